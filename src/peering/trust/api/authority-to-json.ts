/** The JSON document of the certificate authority ([PEER-90]). It contains no private key. */
import { type Static, Type } from 'typebox';
import type { Reader } from '../../../state/memory/reader.ts';
import { unacknowledgedPeerings } from '../acknowledgment.ts';
import { type Authority, authorityRow, renewalTimeMs, stageEndMs, trustedAuthorities } from '../authority.ts';
import type { ClusterName } from '../cluster-name.ts';
import { UNACKNOWLEDGED_LISTED_MAX } from '../limits.ts';

/** The response body of `/v1/operator/ca`. Times are RFC 3339, fingerprints SHA-256 in OpenSSL's format. */
export const authoritySchema = Type.Object({
  TrustDomain: Type.String(),
  ServerName: Type.String({ description: 'The DNS name in the server certificate.' }),
  Stage: Type.Enum(['STABLE', 'ANNOUNCED', 'SWITCHED'], {
    description:
      'STABLE: one CA root. ANNOUNCED: peers receive the new CA root and trust both. SWITCHED: the new one is served, the old one is still trusted.',
  }),
  StageSince: Type.Optional(Type.String({ description: 'Start of the current stage of a rotation.' })),
  StageUntil: Type.Optional(Type.String({ description: 'Latest end of the current stage.' })),
  Roots: Type.Array(
    Type.Object({
      ID: Type.String(),
      Status: Type.Enum(['ACTIVE', 'NEXT', 'PREVIOUS']),
      Fingerprint: Type.String(),
      NotBefore: Type.String(),
      NotAfter: Type.String(),
      PEM: Type.String(),
    }),
    { description: 'The CA roots that peers trust. The first one signed the server certificate.' },
  ),
  ServerCertificate: Type.Object({
    RootID: Type.String(),
    Fingerprint: Type.String(),
    NotBefore: Type.String(),
    NotAfter: Type.String(),
    RenewAfter: Type.String({ description: 'Time from which the server renews the certificate.' }),
  }),
  NotAcknowledgedCount: Type.Integer({
    description: 'Number of peers that have not acknowledged the announced CA root.',
  }),
  NotAcknowledged: Type.Array(
    Type.Object({ ID: Type.String(), Name: Type.String(), Partition: Type.String(), State: Type.String() }),
    { description: `The first ${UNACKNOWLEDGED_LISTED_MAX} of these peers, in order of ID.` },
  ),
  LastRetired: Type.Optional(Type.Object({ ID: Type.String(), Time: Type.String() })),
});

export type AuthorityJson = Static<typeof authoritySchema>;

export function authorityToJson(reader: Reader, { trustDomain, serverName }: ClusterName): AuthorityJson {
  const row = authorityRow(reader);
  const { current, rotation, retired } = row;
  const awaited = unacknowledgedPeerings(reader);
  const { server } = current;
  return {
    TrustDomain: trustDomain,
    ServerName: serverName,
    Stage: rotation === undefined ? 'STABLE' : rotation.stage === 'announced' ? 'ANNOUNCED' : 'SWITCHED',
    ...(rotation === undefined
      ? {}
      : { StageSince: rotation.since, StageUntil: new Date(stageEndMs(rotation)).toISOString() }),
    Roots: trustedAuthorities(row).map((authority) =>
      rootToJson(authority, authority === current ? 'ACTIVE' : rotation?.stage === 'announced' ? 'NEXT' : 'PREVIOUS'),
    ),
    ServerCertificate: {
      RootID: current.id,
      Fingerprint: server.fingerprint,
      NotBefore: server.notBefore,
      NotAfter: server.notAfter,
      RenewAfter: new Date(renewalTimeMs(server)).toISOString(),
    },
    NotAcknowledgedCount: awaited.length,
    NotAcknowledged: awaited
      .slice(0, UNACKNOWLEDGED_LISTED_MAX)
      .map(({ id, name, partition, state }) => ({ ID: id, Name: name, Partition: partition, State: state })),
    ...(retired === undefined ? {} : { LastRetired: { ID: retired.id, Time: retired.time } }),
  };
}

type RootJson = AuthorityJson['Roots'][number];

function rootToJson({ id, root }: Authority, status: RootJson['Status']): RootJson {
  return {
    ID: id,
    Status: status,
    Fingerprint: root.fingerprint,
    NotBefore: root.notBefore,
    NotAfter: root.notAfter,
    PEM: root.certificate,
  };
}
