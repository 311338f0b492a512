/** `accord peering …` */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type ReadOptions, showAnswer } from '../../client/read.ts';
import { removeNamed } from '../../client/remove.ts';
import { CommandError } from '../../errors.ts';
import { UNTIL_SECONDS } from '../../limits.ts';
import { print } from '../../output/output.ts';
import { describePeering, tabulatePeerings } from '../../output/peering-record.ts';
import type { Shell } from '../../shell.ts';
import { addPeeringCheckCommand } from './peering-check.ts';
import { addPeeringDiffCommand } from './peering-diff.ts';
import { peeringPath } from './peering-path.ts';
import { addPeeringServicesCommands } from './peering-services.ts';
import { addPeeringTokenCommands } from './peering-token.ts';
import { untilState } from './until-state.ts';

interface PeeringOptions extends ConnectionOptions, ReadOptions {
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

/** Adds the group. */
export function addPeeringCommands(program: Command, shell: Shell): void {
  const group = program.command('peering').description('connections with other clusters');
  const leaf = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .option('--partition <name>', "partition of the peering (default: the token's own)")
      .option('--json', 'JSON instead of a table');

  addPeeringTokenCommands(leaf, shell);
  withConnection(
    leaf('read <name>', 'shows a peering')
      .option('--watch', 'shows it again whenever it changes')
      .option('--until <state>', 'waits until it is ACTIVE, FAILING, TERMINATED or INITIAL, and shows it then')
      .option('--timeout <seconds>', `how long --until waits (default ${UNTIL_SECONDS})`),
  ).action((name: string, options: ReadPeeringOptions) => read(shell, name, options));
  withConnection(
    leaf('list', 'shows the peerings of a partition; --partition * for all that you may read')
      .option('--state <state>', 'only those in this state: INITIAL, ACTIVE or TERMINATED')
      .option('--name-prefix <prefix>', 'only those whose names begin so')
      .option('--watch', 'shows them again whenever one changes'),
  ).action((options: ListOptions) => list(shell, options));
  withConnection(leaf('delete <name>', 'ends a peering and removes what was imported through it')).action(
    (name: string, options: PeeringOptions) => remove(shell, name, options),
  );
  addPeeringServicesCommands(leaf, shell);
  addPeeringDiffCommand(leaf, shell);
  addPeeringCheckCommand(leaf, shell);
}

async function read(shell: Shell, name: string, options: ReadPeeringOptions): Promise<void> {
  const path = peeringPath(name);
  const query = { partition: options.partition };
  const { until: state } = options;
  if (state === undefined) {
    if (options.timeout !== undefined) throw new CommandError('usage', '--timeout needs --until beside it');
    await showAnswer(shell, connect(shell, options), { path, query }, options, describePeering);
    return;
  }
  if (options.watch === true) throw new CommandError('usage', 'give --watch or --until, not both');
  const awaited = { name, path, query, state: stateIn(state), seconds: secondsIn(options.timeout) };
  print(shell, options, await untilState(shell, options, awaited), describePeering);
}

async function list(shell: Shell, options: ListOptions): Promise<void> {
  const { partition, state, namePrefix } = options;
  const query = { partition, state, 'name-prefix': namePrefix };
  await showAnswer(shell, connect(shell, options), { path: '/v1/peerings', query }, options, tabulatePeerings);
}

async function remove(shell: Shell, name: string, options: PeeringOptions): Promise<void> {
  const at = { path: peeringPath(name), query: { partition: options.partition } };
  await removeNamed(shell, connect(shell, options), at, `peering ${name}`);
}

const STATES: readonly string[] = ['INITIAL', 'ACTIVE', 'FAILING', 'TERMINATED'];

function stateIn(text: string): string {
  const state = text.toUpperCase();
  if (STATES.includes(state)) return state;
  throw new CommandError('usage', `--until is ${JSON.stringify(text)}: want one of ${STATES.join(', ')}`);
}

function secondsIn(text: string | undefined): number {
  if (text === undefined) return UNTIL_SECONDS;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new CommandError('usage', `--timeout is ${JSON.stringify(text)}: want seconds, such as 60`);
}
