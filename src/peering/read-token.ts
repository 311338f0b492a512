/** `GET /v1/peering/:name/token`: whether an unused token is out, and whose it is; never the token. Can wait. */
import { type Static, Type } from 'typebox';
import type { Asked } from '../credentials/operation.ts';
import type { Evaluate } from '../http/v1/reads.ts';
import { readOfPeering } from './read-of-peering.ts';
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
export function readToken(service: PeeringService, asked: Asked, name: string): Evaluate {
  const { clock, credentials } = service;
  return readOfPeering(service, { asked, name, access: 'write' }, ({ row: { id } }, snapshot) => ({
    alsoWatched: [credentials.state.watchRow(acceptedSecrets, id)],
    body: () => statusOf(snapshot.get(acceptedSecrets, id)?.row.establishment, clock.now()),
  }));
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
