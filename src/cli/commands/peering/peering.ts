/** `accord peering`: peerings with other clusters. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { deleteResource } from '../../client/delete-resource.ts';
import { type OutputOptions, printList, printResponse } from '../../client/print-response.ts';
import { CommandError } from '../../errors.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { UNTIL_TIMEOUT_SECONDS } from '../../limits.ts';
import { print, printable } from '../../output/output.ts';
import { describePeering, tabulatePeerings } from '../../output/peering-tables.ts';
import type { Shell } from '../../shell.ts';
import { addPeeringCheckCommand } from './peering-check.ts';
import { addPeeringDiffCommand } from './peering-diff.ts';
import { peeringPath } from './peering-path.ts';
import { addPeeringServicesCommands } from './peering-services.ts';
import { addPeeringTokenCommands } from './peering-token.ts';
import { waitForState } from './wait-for-state.ts';

interface PeeringOptions extends ConnectionOptions, OutputOptions {
  readonly partition?: string;
}

interface ReadPeeringOptions extends PeeringOptions {
  readonly until?: string;
  readonly timeout?: string;
}

interface ListOptions extends PeeringOptions {
  readonly state?: string;
  readonly namePrefix?: string;
}

export function addPeeringCommands(program: Command, shell: Shell): void {
  const group = program.command('peering').description('Manage peerings with other clusters');
  const subcommand = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .option('--partition <name>', "partition of the peering (default: the token's own)")
      .option('--json', 'print JSON instead of a table');

  addPeeringTokenCommands(subcommand, shell);
  withConnection(
    subcommand('read <name>', 'Show a peering')
      .option('--watch', 'print the peering again when it changes')
      .option('--until <state>', 'wait for the state INITIAL, ACTIVE, FAILING, or TERMINATED before printing')
      .option('--timeout <seconds>', `timeout of --until (default: ${UNTIL_TIMEOUT_SECONDS})`),
  )
    .addHelpText('after', '\nExample:\n  accord peering read east --until ACTIVE --timeout 60')
    .action((name: string, options: ReadPeeringOptions) => read(shell, name, options));
  withConnection(
    subcommand('list', 'List the peerings of a partition; --partition * for all that you may read')
      .option('--state <state>', 'show only peerings in the state INITIAL, ACTIVE, or TERMINATED')
      .option('--name-prefix <prefix>', 'show only peerings whose names start with this prefix')
      .option('--watch', 'print the list again when it changes'),
  ).action((options: ListOptions) => list(shell, options));
  withConnection(
    withConfirmation(subcommand('delete <name>', 'Delete a peering and everything imported from the peer')),
  ).action((name: string, options: PeeringOptions & ConfirmationOptions) => remove(shell, name, options));
  addPeeringServicesCommands(subcommand, shell);
  addPeeringDiffCommand(subcommand, shell);
  addPeeringCheckCommand(subcommand, shell);
}

async function read(shell: Shell, name: string, options: ReadPeeringOptions): Promise<void> {
  const path = peeringPath(name);
  const query = { partition: options.partition };
  const { until: state } = options;
  if (state === undefined) {
    if (options.timeout !== undefined) throw new CommandError('usage', '--timeout requires --until');
    await printResponse(shell, connect(shell, options), { path, query }, options, describePeering);
    return;
  }
  if (options.watch === true) throw new CommandError('usage', 'give --watch or --until, not both');
  const wait = { name, path, query, state: parseState(state), seconds: parseSeconds(options.timeout) };
  print(shell, options, await waitForState(shell, options, wait), describePeering);
}

async function list(shell: Shell, options: ListOptions): Promise<void> {
  const { partition, state, namePrefix } = options;
  const query = { partition, state, 'name-prefix': namePrefix };
  await printList(shell, connect(shell, options), { path: '/v1/peerings', query }, options, {
    format: tabulatePeerings,
    cursorOf: ({ Name, Partition }) => `${Name}/${Partition}`,
  });
}

async function remove(shell: Shell, name: string, options: PeeringOptions & ConfirmationOptions): Promise<void> {
  await requireConfirmation(shell, options, `Delete peering ${printable(name)} and everything imported from the peer?`);
  const at = { path: peeringPath(name), query: { partition: options.partition } };
  await deleteResource(shell, connect(shell, options), at, `peering ${name}`);
}

const STATES: readonly string[] = ['INITIAL', 'ACTIVE', 'FAILING', 'TERMINATED'];

function parseState(text: string): string {
  const state = text.toUpperCase();
  if (STATES.includes(state)) return state;
  throw new CommandError('usage', `invalid --until ${JSON.stringify(text)}: want one of ${STATES.join(', ')}`);
}

function parseSeconds(text: string | undefined): number {
  if (text === undefined) return UNTIL_TIMEOUT_SECONDS;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new CommandError('usage', `invalid --timeout ${JSON.stringify(text)}: want seconds, such as 60`);
}
