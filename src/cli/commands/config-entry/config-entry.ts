/** `accord config-entry …`: what is exported to whom, and who may call whom. */
import type { Command } from 'commander';
import { type Answer, type Client, connect, parseJson } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type ReadOptions, showAnswer } from '../../client/read.ts';
import { removeNamed } from '../../client/remove.ts';
import { CommandError } from '../../errors.ts';
import { readJson } from '../../input/read-json.ts';
import {
  describeEntry,
  describePreview,
  type Entry,
  type Preview,
  tabulateEntries,
} from '../../output/config-entry-tables.ts';
import { print, printable } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';

interface EntryOptions extends ConnectionOptions, ReadOptions {
  readonly partition?: string;
}

interface GuardedOptions extends EntryOptions {
  readonly cas?: string;
}

const KINDS = '\nKinds are exported-services and service-intentions.';
const CAS = ['--cas <index>', 'only while this is its modify index; 0: only if it is not there yet'] as const;

/** Adds the group. */
export function addConfigEntryCommands(program: Command, shell: Shell): void {
  const group = program
    .command('config-entry')
    .description('what is exported to whom (exported-services), and who may call whom (service-intentions)');
  const leaf = (name: string, description: string): Command =>
    withConnection(
      group
        .command(name)
        .description(description)
        .option('--partition <name>', "partition of the entry (default: the token's own)"),
    );
  const reading = (name: string, description: string): Command =>
    leaf(name, description)
      .option('--json', 'JSON instead of a table')
      .option('--watch', 'shows it again whenever it changes')
      .addHelpText('after', KINDS);

  reading('read <kind> <name>', 'shows an entry').action((kind: string, name: string, options: EntryOptions) =>
    show<Entry>(shell, pathOf(kind, name), options, describeEntry),
  );
  reading('list <kind>', 'shows the entries of a kind; --partition * for all that you may read').action(
    (kind: string, options: EntryOptions) => show<readonly Entry[]>(shell, pathOf(kind), options, tabulateEntries),
  );
  leaf('write <file>', 'makes an entry, or replaces it, by the JSON in a file (- is a pipe)')
    .option(...CAS)
    .action((file: string, options: GuardedOptions) => write(shell, file, options));
  leaf('preview <file>', 'shows what writing it would change, and writes nothing')
    .option('--json', 'JSON instead of a table')
    .action((file: string, options: EntryOptions) => preview(shell, file, options));
  leaf('delete <kind> <name>', 'deletes an entry')
    .option(...CAS)
    .addHelpText('after', KINDS)
    .action((kind: string, name: string, options: GuardedOptions) => remove(shell, kind, name, options));
}

const pathOf = (...segments: string[]): string => ['/v1/config', ...segments.map(encodeURIComponent)].join('/');

function show<T>(shell: Shell, path: string, options: EntryOptions, people: (result: T) => string): Promise<void> {
  const query = { partition: options.partition };
  return showAnswer<T>(shell, connect(shell, options), { path, query }, options, people);
}

async function write(shell: Shell, file: string, options: GuardedOptions): Promise<void> {
  const client = connect(shell, options);
  const body = await readJson(shell, file, 'the entry');
  const query = { partition: options.partition, cas: options.cas };
  const answer = await client.send({ method: 'PUT', path: '/v1/config', query, body });
  requireDone(client, answer);
  warn(shell, answer);
  note(shell, 'Written.');
}

async function preview(shell: Shell, file: string, options: EntryOptions): Promise<void> {
  const client = connect(shell, options);
  const body = await readJson(shell, file, 'the entry');
  const query = { partition: options.partition };
  const answer = await client.send({ method: 'POST', path: '/v1/config/preview', query, body });
  warn(shell, answer);
  print(shell, options, parseJson(client, answer.text) as Preview, describePreview);
}

async function remove(shell: Shell, kind: string, name: string, options: GuardedOptions): Promise<void> {
  const client = connect(shell, options);
  const { partition, cas } = options;
  const path = pathOf(kind, name);
  if (cas === undefined) {
    await removeNamed(shell, client, { path, query: { partition } }, `entry ${kind}/${name}`);
    return;
  }
  requireDone(client, await client.send({ method: 'DELETE', path, query: { partition, cas } }));
  note(shell, `Deleted entry ${kind}/${name}.`);
}

/** A condition that did not hold is a refusal, too. @throws CommandError `refused` */
function requireDone(client: Client, { text }: Answer): void {
  if (parseJson(client, text) === true) return;
  throw new CommandError('refused', 'the entry does not have this modify index (any more): nothing was changed');
}

function warn(shell: Shell, { headers }: Answer): void {
  const warning = headers['x-service-warning'];
  if (typeof warning === 'string') note(shell, `Warning: ${printable(warning)}`);
}
