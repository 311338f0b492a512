/** `GET /v1/peering/:name/token`: whether an unused token is out, and whose it is; never the token. Can wait. */
import { type Static, Type } from 'typebox';
import { type Asked, waitingAs } from '../credentials/operation.ts';
import { partitionKey } from '../credentials/partition.ts';
import type { Evaluate } from '../http/v1/reads.ts';
import { findPeering, peeringNotFound } from './find-peering.ts';
import { checkPeerName } from './peer-name.ts';
import { peerings } from './record.ts';
import { acceptedSecrets, type Establishment, isOutstanding } from './secrets.ts';
import type { PeeringService } from './service.ts';

/** What there is to know of a token. */
export const tokenStatusSchema = Type.Object(
  {
    Outstanding: Type.Boolean({ description: 'There is a token that can still be used.' }),
    CreateTime: Type.Optional(Type.String({ format: 'date-time' })),
    AccessorID: Type.Optional(
      Type.String({ description: 'The ACL token that made it; absent for the anonymous one.' }),
    ),
    ExpirationTime: Type.Optional(Type.String({ format: 'date-time', description: 'Absent: never.' })),
  },
  { title: 'PeeringTokenStatus' },
);
export type TokenStatus = Static<typeof tokenStatusSchema>;

/** @throws ServiceError `bad-request` */
export function readToken({ credentials, clock }: PeeringService, asked: Asked, name: string): Evaluate {
  checkPeerName(name);
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition, stored } = findPeering(credentials, snapshot, { asked, name, access: 'write' });
    if (stored === undefined) {
      const watched = state.watchEntry(peerings, 'partition', partitionKey(partition));
      return { ...waitingAs(caller), watched, error: peeringNotFound(name) };
    }
    const { id } = stored.row;
    const establishment = snapshot.get(acceptedSecrets, id)?.row.establishment;
    return {
      ...waitingAs(caller),
      watched: [state.watchRow(peerings, id), state.watchRow(acceptedSecrets, id)],
      body: () => statusOf(establishment, clock.now()),
    };
  };
}

function statusOf(establishment: Establishment | undefined, nowMs: number): TokenStatus {
  if (!isOutstanding(establishment, nowMs)) return { Outstanding: false };
  const { createTime, accessorId, expirationTime } = establishment;
  return {
    Outstanding: true,
    CreateTime: createTime,
    ...(accessorId !== undefined && { AccessorID: accessorId }),
    ...(expirationTime !== undefined && { ExpirationTime: expirationTime }),
  };
}
