/** `accord peering diff`: differences between imported services and the services that the peer sent. */
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { print, printable, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import type { AddSubcommand } from '../subcommand.ts';
import { peeringPath } from './peering-path.ts';

interface DiffOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly partition?: string;
}

interface Diff {
  readonly Peer: string;
  readonly Comparable: boolean;
  readonly Reason?: string;
  readonly Digest?: { readonly Received: string };
  readonly Differences: readonly { readonly Service: string; readonly Difference: string; readonly Reason?: string }[];
}

export function addPeeringDiffCommand(subcommand: AddSubcommand, shell: Shell): void {
  withConnection(
    subcommand('diff <name>', 'Compare the services imported from a peer with the services that the peer sent'),
  )
    .addHelpText(
      'after',
      '\nRequires Accord on both sides. The exit code is 1 if services differ. It is 4 if the server cannot compare,\nbecause another server has the stream, no stream is open, or the peer sends no digest.',
    )
    .action((name: string, options: DiffOptions) => diff(shell, name, options));
}

async function diff(shell: Shell, name: string, options: DiffOptions): Promise<void> {
  const { partition } = options;
  const call = { method: 'GET', path: peeringPath(name, '/diff'), query: { partition } } as const;
  const found = await connect(shell, options).read<Diff>(call);
  if (found.Comparable || options.json === true) print(shell, options, found, describe);
  // A comparison that was not possible must not look like a difference.
  if (!found.Comparable) throw new CommandError('unknown', `peering ${name} cannot be compared: ${found.Reason ?? ''}`);
  const { length } = found.Differences;
  if (length > 0) throw new CommandError('failed', `${length} ${length === 1 ? 'service differs' : 'services differ'}`);
}

function describe({ Differences: differences, Digest: digest, Peer }: Diff): string {
  if (differences.length === 0)
    return `No differences from the digest that ${printable(Peer)} sent, received ${digest?.Received}.\n`;
  return table(
    ['SERVICE', 'DIFFERENCE', 'REASON'],
    differences.map(({ Service, Difference, Reason = '' }) => [Service, Difference, Reason]),
  );
}
