/** `accord ca`: the certificate authority of this cluster and the rotation of its root. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type OutputOptions, printResponse } from '../../client/print-response.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { details, print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';

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

interface RotateOptions extends ConnectionOptions, OutputOptions, ConfirmationOptions {
  readonly back?: boolean;
}

const STATUS = '/v1/operator/ca';
const ROTATE = '/v1/operator/ca/rotate';

export function addCaCommands(program: Command, shell: Shell): void {
  const group = program.command('ca').description('Manage the certificate authority that peers trust');
  const subcommand = (name: string, description: string): Command =>
    group.command(name).description(description).option('--json', 'print JSON instead of tables');

  withConnection(
    subcommand('status', 'Show the CA roots, the server certificate, and the stage of a rotation').option(
      '--watch',
      'print the status again when it changes',
    ),
  ).action((options: ConnectionOptions & OutputOptions) =>
    printResponse(shell, connect(shell, options), { path: STATUS }, options, describe),
  );
  withConnection(
    withConfirmation(
      subcommand('rotate', 'Replace the CA root in stages, without disconnecting peers').option(
        '--back',
        'cancel the current rotation and return to the previous root',
      ),
    ),
  ).action((options: RotateOptions) => rotate(shell, options));
}

async function rotate(shell: Shell, options: RotateOptions): Promise<void> {
  const isBack = options.back === true;
  const question = isBack ? 'Return to the previous CA root?' : 'Replace the CA root that all peers trust?';
  await requireConfirmation(shell, options, question);
  const method = isBack ? 'DELETE' : 'PUT';
  const result = await connect(shell, options).read<CertificateAuthority>({ method, path: ROTATE });
  print(shell, options, result, describe);
  if (!isBack) note(shell, 'Rotation started. To watch its progress: accord ca status --watch');
}

function describe(authority: CertificateAuthority): string {
  const { ServerCertificate: server, StageSince: since, StageUntil: until } = authority;
  const facts = details([
    ['Server name', authority.ServerName],
    ['Server certificate', server.Fingerprint],
    ['Valid until', server.NotAfter],
    ['Renewed after', server.RenewAfter],
    ['Stage', describeStage(authority)],
    ['Since', since],
    ['Until', until === undefined ? undefined : `${until} at the latest`],
  ]);
  const roots = table(
    ['STATUS', 'ROOT', 'VALID UNTIL', 'FINGERPRINT'],
    authority.Roots.map((root) => [root.Status, root.ID, root.NotAfter, root.Fingerprint]),
  );
  return `${facts}\n${roots}${describeUnacknowledged(authority)}`;
}

function describeStage({ Stage: stage, NotAcknowledgedCount: count }: CertificateAuthority): string {
  switch (stage) {
    case 'STABLE':
      return 'STABLE: no rotation in progress';
    case 'ANNOUNCED':
      return `ANNOUNCED: the next root was sent, ${count === 0 ? 'all peers' : `all but ${count}`} have acknowledged it`;
    case 'SWITCHED':
      return 'SWITCHED: the new root is active, the previous one is still trusted';
  }
}

/** Formats the peers that have not acknowledged the next root. The API returns only the first ones. */
function describeUnacknowledged({ NotAcknowledged: peers, NotAcknowledgedCount: count }: CertificateAuthority): string {
  if (count === 0) return '';
  const rows = peers.map(({ Name, Partition, State }) => [Name, Partition, State]);
  const more = count > peers.length ? `and ${count - peers.length} more\n` : '';
  return `\n${table(['NOT ACKNOWLEDGED', 'PARTITION', 'STATE'], rows)}${more}`;
}
