/** The certificate authority as the API shows it: where it stands, and who is waited for. Never a key. */
import { type Static, Type } from 'typebox';
import type { Reader } from '../../../state/memory/reader.ts';
import { unacknowledged } from '../acknowledgement.ts';
import { type Authority, authorityOf, renewalMs, stageEndMs, trustedAuthorities } from '../authority.ts';
import { UNACKNOWLEDGED_SHOWN_MAX } from '../limits.ts';
import type { ClusterName } from '../names.ts';

/** What `/v1/operator/ca` answers with. Times are RFC 3339, fingerprints SHA-256 as OpenSSL shows them. */
export const authoritySchema = Type.Object({
  TrustDomain: Type.String(),
  ServerName: Type.String({ description: 'What peers find in the server certificate.' }),
  Stage: Type.Enum(['STABLE', 'ANNOUNCED', 'SWITCHED'], {
    description:
      'STABLE: one root. ANNOUNCED: peers are told to trust a new root too. SWITCHED: the new one is served, the previous one is still trusted.',
  }),
  StageSince: Type.Optional(Type.String({ description: 'When the stage of a rotation began.' })),
  StageUntil: Type.Optional(Type.String({ description: 'When it ends at the latest.' })),
  Roots: Type.Array(
    Type.Object({
      ID: Type.String(),
      Status: Type.Enum(['ACTIVE', 'NEXT', 'PREVIOUS']),
      Fingerprint: Type.String(),
      NotBefore: Type.String(),
      NotAfter: Type.String(),
      PEM: Type.String(),
    }),
    { description: 'The roots that peers are told to trust; first the one that vouches for the server certificate.' },
  ),
  ServerCertificate: Type.Object({
    RootID: Type.String(),
    Fingerprint: Type.String(),
    NotBefore: Type.String(),
    NotAfter: Type.String(),
    RenewAfter: Type.String({ description: 'From then on it is replaced by itself.' }),
  }),
  NotAcknowledgedCount: Type.Integer({ description: 'Peers that an announced root waits for.' }),
  NotAcknowledged: Type.Array(
    Type.Object({ ID: Type.String(), Name: Type.String(), Partition: Type.String(), State: Type.String() }),
    { description: `The first ${UNACKNOWLEDGED_SHOWN_MAX} of them, by ID.` },
  ),
  LastRetired: Type.Optional(Type.Object({ ID: Type.String(), Time: Type.String() })),
});

export type ShownAuthority = Static<typeof authoritySchema>;

/** The document. */
export function showAuthority(reader: Reader, { trustDomain, serverName }: ClusterName): ShownAuthority {
  const row = authorityOf(reader);
  const { current, rotation, retired } = row;
  const waitedFor = unacknowledged(reader);
  const { server } = current;
  return {
    TrustDomain: trustDomain,
    ServerName: serverName,
    Stage: rotation === undefined ? 'STABLE' : rotation.stage === 'announced' ? 'ANNOUNCED' : 'SWITCHED',
    ...(rotation === undefined
      ? {}
      : { StageSince: rotation.since, StageUntil: new Date(stageEndMs(rotation)).toISOString() }),
    Roots: trustedAuthorities(row).map((authority) =>
      showRoot(authority, authority === current ? 'ACTIVE' : rotation?.stage === 'announced' ? 'NEXT' : 'PREVIOUS'),
    ),
    ServerCertificate: {
      RootID: current.id,
      Fingerprint: server.fingerprint,
      NotBefore: server.notBefore,
      NotAfter: server.notAfter,
      RenewAfter: new Date(renewalMs(server)).toISOString(),
    },
    NotAcknowledgedCount: waitedFor.length,
    NotAcknowledged: waitedFor
      .slice(0, UNACKNOWLEDGED_SHOWN_MAX)
      .map(({ id, name, partition, state }) => ({ ID: id, Name: name, Partition: partition, State: state })),
    ...(retired === undefined ? {} : { LastRetired: { ID: retired.id, Time: retired.time } }),
  };
}

type ShownRoot = ShownAuthority['Roots'][number];

function showRoot({ id, root }: Authority, status: ShownRoot['Status']): ShownRoot {
  return {
    ID: id,
    Status: status,
    Fingerprint: root.fingerprint,
    NotBefore: root.notBefore,
    NotAfter: root.notAfter,
    PEM: root.certificate,
  };
}
