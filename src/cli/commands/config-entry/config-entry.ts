/** `accord config-entry`: configuration entries. */
import type { Command } from 'commander';
import { type Client, type ClientResponse, connect, parseJson } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { deleteResource } from '../../client/delete-resource.ts';
import { type OutputOptions, printResponse } from '../../client/print-response.ts';
import { CommandError } from '../../errors.ts';
import { readJson } from '../../input/read-file.ts';
import {
  describeEntry,
  describePreview,
  type Entry,
  type Preview,
  tabulateEntries,
} from '../../output/config-entry-tables.ts';
import { print, printable } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';

interface EntryOptions extends ConnectionOptions, OutputOptions {
  readonly partition?: string;
}

interface CasOptions extends EntryOptions {
  readonly cas?: string;
}

const KINDS = '\nKinds are exported-services and service-intentions.';
const CAS = [
  '--cas <index>',
  'change the entry only if its modify index is this; 0: only if it does not exist',
] as const;

export function addConfigEntryCommands(program: Command, shell: Shell): void {
  const group = program
    .command('config-entry')
    .description('Manage configuration entries: exported services and service intentions');
  const subcommand = (name: string, description: string): Command =>
    withConnection(
      group
        .command(name)
        .description(description)
        .option('--partition <name>', "partition of the entry (default: the token's own)"),
    );
  const readSubcommand = (name: string, description: string): Command =>
    subcommand(name, description)
      .option('--json', 'print JSON instead of a table')
      .option('--watch', 'print the result again when it changes')
      .addHelpText('after', KINDS);

  readSubcommand('read <kind> <name>', 'Show an entry').action((kind: string, name: string, options: EntryOptions) =>
    show<Entry>(shell, pathOf(kind, name), options, describeEntry),
  );
  readSubcommand('list <kind>', 'List the entries of a kind; --partition * for all that you may read').action(
    (kind: string, options: EntryOptions) => show<readonly Entry[]>(shell, pathOf(kind), options, tabulateEntries),
  );
  subcommand('write <file>', 'Create or replace an entry from JSON in a file (- for standard input)')
    .option(...CAS)
    .action((file: string, options: CasOptions) => write(shell, file, options));
  subcommand('preview <file>', 'Show the changes that writing the entry would make')
    .option('--json', 'print JSON instead of a table')
    .action((file: string, options: EntryOptions) => preview(shell, file, options));
  subcommand('delete <kind> <name>', 'Delete an entry')
    .option(...CAS)
    .addHelpText('after', KINDS)
    .action((kind: string, name: string, options: CasOptions) => remove(shell, kind, name, options));
}

const pathOf = (...segments: string[]): string => ['/v1/config', ...segments.map(encodeURIComponent)].join('/');

function show<T>(shell: Shell, path: string, options: EntryOptions, format: (result: T) => string): Promise<void> {
  const query = { partition: options.partition };
  return printResponse<T>(shell, connect(shell, options), { path, query }, options, format);
}

async function write(shell: Shell, file: string, options: CasOptions): Promise<void> {
  const client = connect(shell, options);
  const body = await readJson(shell, file, 'the entry');
  const query = { partition: options.partition, cas: options.cas };
  const response = await client.send({ method: 'PUT', path: '/v1/config', query, body });
  requireApplied(client, response);
  warn(shell, response);
  note(shell, 'Written.');
}

async function preview(shell: Shell, file: string, options: EntryOptions): Promise<void> {
  const client = connect(shell, options);
  const body = await readJson(shell, file, 'the entry');
  const query = { partition: options.partition };
  const response = await client.send({ method: 'POST', path: '/v1/config/preview', query, body });
  warn(shell, response);
  print(shell, options, parseJson(client, response.text) as Preview, describePreview);
}

async function remove(shell: Shell, kind: string, name: string, options: CasOptions): Promise<void> {
  const client = connect(shell, options);
  const { partition, cas } = options;
  const path = pathOf(kind, name);
  if (cas === undefined) {
    await deleteResource(shell, client, { path, query: { partition } }, `entry ${kind}/${name}`);
    return;
  }
  requireApplied(client, await client.send({ method: 'DELETE', path, query: { partition, cas } }));
  note(shell, `Deleted entry ${kind}/${name}.`);
}

/** Requires that the `--cas` condition held. The API returns `false` otherwise. @throws CommandError `failed` */
function requireApplied(client: Client, { text }: ClientResponse): void {
  if (parseJson(client, text) === true) return;
  throw new CommandError('failed', 'not changed: --cas is not the modify index of the entry; read the entry again');
}

function warn(shell: Shell, { headers }: ClientResponse): void {
  const warning = headers['x-service-warning'];
  if (typeof warning === 'string') note(shell, `Warning: ${printable(warning)}`);
}
