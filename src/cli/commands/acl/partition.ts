/** `accord partition`: partitions. */
import type { Command } from 'commander';
import { type Client, connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { deleteResource } from '../../client/delete-resource.ts';
import { type OutputOptions, printResponse } from '../../client/print-response.ts';
import { CommandError } from '../../errors.ts';
import { details, print, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

interface Partition {
  readonly Name: string;
  readonly Description: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

interface PartitionOptions extends ConnectionOptions, OutputOptions {
  readonly description?: string;
}

export function addPartitionCommands(program: Command, shell: Shell): void {
  const group = program
    .command('partition')
    .description('Manage partitions, the namespaces of peerings, services, and tokens');
  const subcommand = (name: string, description: string): Command =>
    group.command(name).description(description).option('--json', 'print JSON instead of a table');

  withConnection(
    subcommand('create <name>', 'Create a partition').option('--description <text>', 'description of the partition'),
  ).action((name: string, options: PartitionOptions) => create(shell, name, options));
  withConnection(
    subcommand('read <name>', 'Show a partition').option('--watch', 'print the partition again when it changes'),
  ).action((name: string, options: PartitionOptions) =>
    printResponse(shell, connect(shell, options), { path: pathOf(name) }, options, describe),
  );
  withConnection(
    subcommand('update <name>', 'Update a partition').requiredOption('--description <text>', 'new description'),
  ).action((name: string, options: PartitionOptions) => update(shell, name, options));
  withConnection(group.command('delete <name>').description('Delete an empty partition')).action(
    (name: string, options: PartitionOptions) => remove(shell, name, options),
  );
  withConnection(
    subcommand('list', 'List partitions').option('--watch', 'print the list again when it changes'),
  ).action((options: PartitionOptions) =>
    printResponse(shell, connect(shell, options), { path: '/v1/partitions' }, options, tabulate),
  );
}

const pathOf = (name: string): string => `/v1/partition/${encodeURIComponent(name)}`;

/**
 * Creates a partition unless it exists. The API's PUT creates or updates; the commands separate the two, so that a
 * mistyped name is noticed. The check is not atomic: a concurrent writer can still create the partition first.
 */
async function create(shell: Shell, name: string, options: PartitionOptions): Promise<void> {
  const client = connect(shell, options);
  const { status } = await client.request({ method: 'GET', path: pathOf(name) });
  if (status === 200)
    throw new CommandError('failed', `partition "${name}" already exists; use partition update to change it`);
  await put(shell, client, name, options);
}

async function update(shell: Shell, name: string, options: PartitionOptions): Promise<void> {
  const client = connect(shell, options);
  await client.send({ method: 'GET', path: pathOf(name) });
  await put(shell, client, name, options);
}

async function put(shell: Shell, client: Client, name: string, options: PartitionOptions): Promise<void> {
  const body = { Description: options.description };
  print(shell, options, await client.read<Partition>({ method: 'PUT', path: pathOf(name), body }), describe);
}

async function remove(shell: Shell, name: string, options: PartitionOptions): Promise<void> {
  await deleteResource(shell, connect(shell, options), { path: pathOf(name) }, `partition ${name}`);
}

function describe(partition: Partition): string {
  return details([
    ['Name', partition.Name],
    ['Description', partition.Description],
    ['Create index', String(partition.CreateIndex)],
    ['Modify index', String(partition.ModifyIndex)],
  ]);
}

const tabulate = (partitions: readonly Partition[]): string =>
  table(
    ['NAME', 'DESCRIPTION'],
    partitions.map(({ Name, Description }) => [Name, Description]),
  );
