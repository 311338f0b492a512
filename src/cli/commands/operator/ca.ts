/** `accord ca …`: the certificate authority by which peers know this cluster. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type ReadOptions, showAnswer } from '../../client/read.ts';
import { details, print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';

/** The authority as the API shows it. */
interface CertificateAuthority {
  readonly ServerName: string;
  readonly Stage: 'STABLE' | 'ANNOUNCED' | 'SWITCHED';
  readonly StageSince?: string;
  readonly StageUntil?: string;
  readonly Roots: readonly {
    readonly ID: string;
    readonly Status: string;
    readonly Fingerprint: string;
    readonly NotAfter: string;
  }[];
  readonly ServerCertificate: { readonly Fingerprint: string; readonly NotAfter: string; readonly RenewAfter: string };
  readonly NotAcknowledgedCount: number;
  readonly NotAcknowledged: readonly { readonly Name: string; readonly Partition: string; readonly State: string }[];
}

interface RotateOptions extends ConnectionOptions, ReadOptions {
  readonly back?: boolean;
}

const STATUS = '/v1/operator/ca';
const ROTATE = '/v1/operator/ca/rotate';

/** Adds the group. */
export function addCaCommands(program: Command, shell: Shell): void {
  const group = program.command('ca').description('the certificates by which peers know this cluster');
  const leaf = (name: string, description: string): Command =>
    group.command(name).description(description).option('--json', 'JSON instead of tables');

  withConnection(
    leaf('status', 'shows the roots, the server certificate, and where a rotation stands').option(
      '--watch',
      'shows it again whenever it changes',
    ),
  ).action((options: ConnectionOptions & ReadOptions) =>
    showAnswer(shell, connect(shell, options), { path: STATUS }, options, describe),
  );
  withConnection(
    leaf('rotate', 'replaces the root in stages, without cutting off a peer').option(
      '--back',
      'goes back to the root from before the rotation under way',
    ),
  ).action((options: RotateOptions) => rotate(shell, options));
}

async function rotate(shell: Shell, options: RotateOptions): Promise<void> {
  const method = options.back === true ? 'DELETE' : 'PUT';
  const result = await connect(shell, options).read<CertificateAuthority>({ method, path: ROTATE });
  print(shell, options, result, describe);
  if (options.back !== true) note(shell, 'The rotation goes on by itself: accord ca status --watch shows it.');
}

function describe(authority: CertificateAuthority): string {
  const { ServerCertificate: server, StageSince: since, StageUntil: until } = authority;
  const facts = details([
    ['Server name', authority.ServerName],
    ['Server certificate', server.Fingerprint],
    ['Valid until', server.NotAfter],
    ['Renewed after', server.RenewAfter],
    ['Stage', meaningOf(authority)],
    ['Since', since],
    ['Until', until === undefined ? undefined : `${until} at the latest`],
  ]);
  const roots = table(
    ['STATUS', 'ROOT', 'VALID UNTIL', 'FINGERPRINT'],
    authority.Roots.map((root) => [root.Status, root.ID, root.NotAfter, root.Fingerprint]),
  );
  return `${facts}\n${roots}${describeWaiting(authority)}`;
}

function meaningOf({ Stage: stage, NotAcknowledgedCount: count }: CertificateAuthority): string {
  switch (stage) {
    case 'STABLE':
      return 'STABLE: no rotation is under way';
    case 'ANNOUNCED':
      return `ANNOUNCED: peers are told to trust the next root, ${count === 0 ? 'all' : `all but ${count}`} have acknowledged it`;
    case 'SWITCHED':
      return 'SWITCHED: the new root is served, the previous one is still trusted';
  }
}

/** Who is waited for; of many the first. */
function describeWaiting({ NotAcknowledged: peers, NotAcknowledgedCount: count }: CertificateAuthority): string {
  if (count === 0) return '';
  const rows = peers.map(({ Name, Partition, State }) => [Name, Partition, State]);
  const more = count > peers.length ? `and ${count - peers.length} more\n` : '';
  return `\n${table(['NOT ACKNOWLEDGED', 'PARTITION', 'STATE'], rows)}${more}`;
}
