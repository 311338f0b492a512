/** `PUT /v1/acl/token/:accessor`: changes description and grants; what the body leaves out stays as it is. */
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../http/errors.ts';
import type { Stored } from '../../state/table.ts';
import { type AclToken, aclTokens, type ShownToken, showToken } from '../acl-token.ts';
import { authorizeGrants, recordTokenChange } from '../change-token.ts';
import { type Asked, type Credentials, originOf, writeFor } from '../operation.ts';
import { findToken, tokenNotFound } from './find-token.ts';
import { type ChangedToken, grantsOf, inExistingPartitions, readExpiration } from './token-body.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError */
export async function updateToken(
  credentials: Credentials,
  asked: Asked,
  accessorId: string,
  body: ChangedToken,
): Promise<ShownToken> {
  checkSameId(body.AccessorID, accessorId);
  const grantsIn = body.Grants === undefined ? undefined : grantsOf(body.Grants, credentials.edition);
  const expiration = readExpiration(body);
  const named: Asked = { ...asked, partitions: { ...asked.partitions, body: body.Partition } };
  return await writeFor(credentials, asked, (tx) => {
    const { caller, partition, stored: before } = findToken(credentials, tx, named, accessorId, 'write');
    if (before === undefined) throw tokenNotFound(accessorId);
    const wanted = grantsIn?.(partition);
    authorizeGrants(caller, before.row.grants);
    if (wanted !== undefined) authorizeGrants(caller, wanted);
    if (expiration !== undefined) checkSameEnd(expiration.atMs, before);
    const next: AclToken = {
      ...before.row,
      description: body.Description ?? before.row.description,
      grants: wanted === undefined ? before.row.grants : inExistingPartitions(tx, wanted),
    };
    // A change that changes nothing leaves no trace: no index moves, nobody wakes.
    if (isDeepStrictEqual(next, before.row)) return showToken(before);
    const after = tx.put(aclTokens, next);
    recordTokenChange(tx, originOf(asked, caller), 'update', before, after);
    return showToken(after);
  });
}

function checkSameId(given: string | undefined, accessorId: string): void {
  if (given === undefined || given === '' || given.toLowerCase() === accessorId.toLowerCase()) return;
  throw new ServiceError('bad-request', `AccessorID "${given}" is not that of the path, "${accessorId}"`);
}

function checkSameEnd(atMs: number | undefined, { row }: Stored<AclToken>): void {
  if (row.expirationTime !== undefined && atMs === Date.parse(row.expirationTime)) return;
  throw new ServiceError(
    'bad-request',
    `ExpirationTime cannot be changed, it is ${row.expirationTime ?? 'never'}: make a new token`,
  );
}
