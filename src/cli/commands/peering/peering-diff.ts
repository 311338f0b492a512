/** `accord peering diff`: what of a peer's services is not here as it is there. */
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { print, printable, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { peeringPath } from './peering-path.ts';
import type { Leaf } from './peering-token.ts';

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

/** Adds the command. */
export function addPeeringDiffCommand(leaf: Leaf, shell: Shell): void {
  withConnection(leaf('diff <name>', 'compares what came from a peer with what the peer says that it has sent'))
    .addHelpText(
      'after',
      '\nOnly between two clusters of Accord. The exit code is 1 when something differs, and 4 when the\nserver cannot compare: another one holds the stream, there is none, or the peer does not tell what it has sent.',
    )
    .action((name: string, options: DiffOptions) => diff(shell, name, options));
}

async function diff(shell: Shell, name: string, options: DiffOptions): Promise<void> {
  const { partition } = options;
  const call = { method: 'GET', path: peeringPath(name, '/diff'), query: { partition } } as const;
  const found = await connect(shell, options).read<Diff>(call);
  if (found.Comparable || options.json === true) print(shell, options, found, describe);
  // Nothing is known to differ, so this must not look like a difference.
  if (!found.Comparable) throw new CommandError('unknown', `peering ${name} cannot be compared: ${found.Reason ?? ''}`);
  const { length } = found.Differences;
  if (length > 0)
    throw new CommandError('refused', `${length} ${length === 1 ? 'service differs' : 'services differ'}`);
}

function describe({ Differences: differences, Digest: digest, Peer }: Diff): string {
  if (differences.length === 0)
    return `Nothing differs from what ${printable(Peer)} had sent by ${digest?.Received}.\n`;
  return table(
    ['SERVICE', 'DIFFERENCE', 'REASON'],
    differences.map(({ Service, Difference, Reason = '' }) => [Service, Difference, Reason]),
  );
}
