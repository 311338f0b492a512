/** `GET /v1/peering/:name/token`: whether an unused token is out, and whose it is; never the token. Can wait. */
import { type Static, Type } from 'typebox';
import type { Asked } from '../../credentials/operation.ts';
import type { Evaluate } from '../../http/blocking/reads.ts';
import { readOfPeering } from '../find/peering-read.ts';
import type { PeeringService } from '../peering-context.ts';
import { acceptedSecrets, type Establishment, isOutstanding } from '../record/secrets.ts';

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

/**
 * Who waits while a token is out is answered when that expires, too.
 * @throws ServiceError `bad-request`
 */
export function readToken(service: PeeringService, asked: Asked, name: string): Evaluate {
  const { clock, credentials } = service;
  let wasOutstanding = false;
  return readOfPeering(service, { asked, name, access: 'write' }, ({ row: { id } }, snapshot) => {
    const establishment = snapshot.get(acceptedSecrets, id)?.row.establishment;
    const nowMs = clock.now();
    const outstanding = isOutstanding(establishment, nowMs);
    const hasExpired = wasOutstanding && !outstanding;
    wasOutstanding = outstanding;
    const watched = credentials.state.watchRow(acceptedSecrets, id);
    return {
      // Time alone has changed the answer, which no index tells: it is newer than whatever was asked for.
      alsoWatched: [hasExpired ? { ...watched, index: Number.POSITIVE_INFINITY } : watched],
      expiresAtMs: outstanding ? expiryOf(establishment) : undefined,
      body: () => statusOf(establishment, nowMs),
    };
  });
}

/** Milliseconds since 1970; undefined: never. */
const expiryOf = ({ expirationTime }: Establishment): number | undefined =>
  expirationTime === undefined ? undefined : Date.parse(expirationTime);

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
