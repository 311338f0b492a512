/** `accord partition …` */
import type { Command } from 'commander';
import { type Client, connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type ReadOptions, showAnswer } from '../../client/read.ts';
import { removeNamed } from '../../client/remove.ts';
import { CommandError } from '../../errors.ts';
import { details, print, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

/** A partition as the API shows it. */
interface Partition {
  readonly Name: string;
  readonly Description: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

interface PartitionOptions extends ConnectionOptions, ReadOptions {
  readonly description?: string;
}

/** Adds the group. */
export function addPartitionCommands(program: Command, shell: Shell): void {
  const group = program.command('partition').description('partitions, which keep names and grants apart');
  const leaf = (name: string, description: string): Command =>
    group.command(name).description(description).option('--json', 'JSON instead of a table');

  withConnection(leaf('create <name>', 'makes a partition').option('--description <text>', 'what it is for')).action(
    (name: string, options: PartitionOptions) => create(shell, name, options),
  );
  withConnection(
    leaf('read <name>', 'shows a partition').option('--watch', 'shows it again whenever it changes'),
  ).action((name: string, options: PartitionOptions) =>
    showAnswer(shell, connect(shell, options), { path: pathOf(name) }, options, describe),
  );
  withConnection(
    leaf('update <name>', 'changes a partition').requiredOption('--description <text>', 'what it is for'),
  ).action((name: string, options: PartitionOptions) => update(shell, name, options));
  withConnection(group.command('delete <name>').description('deletes a partition that nothing is in')).action(
    (name: string, options: PartitionOptions) => remove(shell, name, options),
  );
  withConnection(
    leaf('list', 'shows the partitions').option('--watch', 'shows them again whenever one changes'),
  ).action((options: PartitionOptions) =>
    showAnswer(shell, connect(shell, options), { path: '/v1/partitions' }, options, tabulate),
  );
}

const pathOf = (name: string): string => `/v1/partition/${encodeURIComponent(name)}`;

/**
 * The API's PUT makes or changes; here the two are apart, so that a mistyped name makes nothing new and `create`
 * changes nothing old. Another writer in between can still win: a courtesy, not a guard.
 */
async function create(shell: Shell, name: string, options: PartitionOptions): Promise<void> {
  const client = connect(shell, options);
  const { status } = await client.ask({ method: 'GET', path: pathOf(name) });
  if (status === 200) throw new CommandError('refused', `partition "${name}" exists already; to change it: update`);
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
  await removeNamed(shell, connect(shell, options), { path: pathOf(name) }, `partition ${name}`);
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
