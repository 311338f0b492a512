/** `accord service explain`: why a service is not where it is looked for. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { showAnswer } from '../../client/read.ts';
import { printable, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { peeringPath } from '../peering/peering-path.ts';

interface ExplainOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly partition?: string;
  readonly peer: string;
}

interface Walk {
  readonly Arrives?: boolean;
  readonly StopsAt?: string;
  readonly Steps: readonly { readonly Step: string; readonly Status: string; readonly Detail?: string }[];
}

interface Explanation {
  readonly Service: string;
  readonly Peer: string;
  readonly Server?: string;
  readonly Outgoing: Walk;
  readonly Incoming: Walk;
}

/** Adds the group. */
export function addServiceCommands(program: Command, shell: Shell): void {
  const group = program.command('service').description('services on their way between clusters');
  withConnection(
    group
      .command('explain <service>')
      .description('tells where a service stops on its way to a peer, and from it')
      .requiredOption('--peer <name>', 'the peering with the other cluster')
      .option('--partition <name>', "partition of the peering (default: the token's own)")
      .option('--json', 'JSON instead of tables'),
  ).action((service: string, options: ExplainOptions) => explain(shell, service, options));
}

function explain(shell: Shell, service: string, options: ExplainOptions): Promise<void> {
  const { peer, partition } = options;
  const call = { path: peeringPath(peer, '/explain'), query: { service, partition } };
  return showAnswer(shell, connect(shell, options), call, options, describe);
}

function describe({ Service, Peer, Server: server, Outgoing, Incoming }: Explanation): string {
  const [service, peer] = [printable(Service), printable(Peer)];
  const hint =
    server === undefined ? '' : `\nServer ${printable(server)} holds the stream and can tell more: ask that one.\n`;
  return [
    `The ${service} of this cluster, on its way to ${peer}: ${resultOf(Outgoing)}\n`,
    tabulate(Outgoing),
    `\nThe ${service} of ${peer}, on its way to this cluster: ${resultOf(Incoming)}\n`,
    tabulate(Incoming),
    hint,
  ].join('');
}

function resultOf({ Arrives, StopsAt }: Walk): string {
  if (StopsAt !== undefined) return `stops at "${printable(StopsAt)}"`;
  return Arrives === true ? 'arrives' : 'not known to this server';
}

/** What was not looked at, since something before it is in the way, is left out. */
const tabulate = ({ Steps }: Walk): string =>
  table(
    ['STEP', 'STATUS', 'WHAT WAS FOUND'],
    Steps.filter(({ Status }) => Status !== 'skipped').map(({ Step, Status, Detail = '' }) => [Step, Status, Detail]),
  );
