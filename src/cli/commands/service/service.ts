/** `accord service explain`: the path of a service between this cluster and a peer. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { printResponse } from '../../client/print-response.ts';
import { printable, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { peeringPath } from '../peering/peering-path.ts';

interface ExplainOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly partition?: string;
  readonly peer: string;
}

interface Direction {
  readonly Arrives?: boolean;
  readonly StopsAt?: string;
  readonly Steps: readonly { readonly Step: string; readonly Status: string; readonly Detail?: string }[];
}

interface Explanation {
  readonly Service: string;
  readonly Peer: string;
  readonly Server?: string;
  readonly Outgoing: Direction;
  readonly Incoming: Direction;
}

export function addServiceCommands(program: Command, shell: Shell): void {
  const group = program.command('service').description('Diagnose services shared between clusters');
  withConnection(
    group
      .command('explain <service>')
      .description('Show each step of the export or import of a service, and the step that fails')
      .requiredOption('--peer <name>', 'peering with the other cluster')
      .option('--partition <name>', "partition of the peering (default: the token's own)")
      .option('--json', 'print JSON instead of tables'),
  ).action((service: string, options: ExplainOptions) => explain(shell, service, options));
}

function explain(shell: Shell, service: string, options: ExplainOptions): Promise<void> {
  const { peer, partition } = options;
  const call = { path: peeringPath(peer, '/explain'), query: { service, partition } };
  return printResponse(shell, connect(shell, options), call, options, describe);
}

function describe({ Service, Peer, Server: server, Outgoing, Incoming }: Explanation): string {
  const [service, peer] = [printable(Service), printable(Peer)];
  const hint =
    server === undefined
      ? ''
      : `\nServer ${printable(server)} has the stream. Send the command to that server for details.\n`;
  return [
    `${service} from this cluster to ${peer}: ${resultOf(Outgoing)}\n`,
    tabulate(Outgoing),
    `\n${service} from ${peer} to this cluster: ${resultOf(Incoming)}\n`,
    tabulate(Incoming),
    hint,
  ].join('');
}

function resultOf({ Arrives, StopsAt }: Direction): string {
  if (StopsAt !== undefined) return `stops at "${printable(StopsAt)}"`;
  return Arrives === true ? 'arrives' : 'unknown to this server';
}

/** Formats the steps. Omits steps that were skipped because an earlier one failed. */
const tabulate = ({ Steps }: Direction): string =>
  table(
    ['STEP', 'STATUS', 'RESULT'],
    Steps.filter(({ Status }) => Status !== 'skipped').map(({ Step, Status, Detail = '' }) => [Step, Status, Detail]),
  );
