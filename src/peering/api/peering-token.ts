/**
 * `GET` and `DELETE /v1/peering/:name/token`: the status of the unused token, and its revocation. Neither returns it.
 */
import { type Static, Type } from 'typebox';
import { originOf, type RequestContext, writeForRequest } from '../../credentials/caller.ts';
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import { findPeering, peeringQuery } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName } from '../record/record.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { acceptedSecrets, type Establishment, isOutstanding } from '../record/secrets.ts';

export const tokenStatusSchema = Type.Object(
  {
    Outstanding: Type.Boolean({ description: 'Whether a token can still be used.' }),
    CreateTime: Type.Optional(Type.String({ format: 'date-time' })),
    AccessorID: Type.Optional(
      Type.String({ description: 'The ACL token that generated it. Absent for the anonymous token.' }),
    ),
    ExpirationTime: Type.Optional(
      Type.String({ format: 'date-time', description: 'Absent when the token does not expire.' }),
    ),
  },
  { title: 'PeeringTokenStatus' },
);
export type TokenStatus = Static<typeof tokenStatusSchema>;

/** Reads the status ([PEER-46]). Waiting queries return when the token expires. @throws ServiceError `bad-request` */
export function readToken(service: PeeringService, context: RequestContext, name: string): Evaluate {
  const { clock, credentials } = service;
  let wasOutstanding = false;
  return peeringQuery(service, { context, name, access: 'write' }, ({ row: { id } }, snapshot) => {
    const establishment = snapshot.get(acceptedSecrets, id)?.row.establishment;
    const nowMs = clock.now();
    const outstanding = isOutstanding(establishment, nowMs);
    const hasExpired = wasOutstanding && !outstanding;
    wasOutstanding = outstanding;
    const watched = credentials.state.watchRow(acceptedSecrets, id);
    return {
      // The expiry changes the result without a commit. The infinite index makes the query return.
      alsoWatched: [hasExpired ? { ...watched, index: Number.POSITIVE_INFINITY } : watched],
      expiresAtMs: outstanding ? expiryOf(establishment) : undefined,
      body: () => statusOf(establishment, nowMs),
    };
  });
}

/** Returns milliseconds since 1970, or `undefined` for a token that does not expire. */
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

/**
 * Revokes the unused token and keeps a live stream. Succeeds when there is no token ([PEER-47]).
 * @throws ServiceError `bad-request` | `permission-denied`; StateError
 */
export async function revokeToken(
  { credentials }: PeeringService,
  context: RequestContext,
  name: string,
): Promise<void> {
  checkPeerName(name);
  await writeForRequest(credentials, context, (tx) => {
    const { caller, stored } = findPeering(credentials, tx, { context, name, access: 'write' });
    const secrets = stored === undefined ? undefined : tx.get(acceptedSecrets, stored.row.id)?.row;
    if (stored === undefined || secrets === undefined || !isOutstanding(secrets.establishment, tx.now)) return;
    const { establishment: _revoked, ...rest } = secrets;
    tx.put(acceptedSecrets, rest);
    recordPeeringChange(tx, originOf(context, caller), { action: 'revoke-token', before: stored, after: stored });
  });
}
