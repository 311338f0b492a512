/** `PUT /v1/acl/token/:accessor`: replaces the description and the grants, where the body has them [ACL-41]. */
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../http/errors.ts';
import type { Stored } from '../../state/table.ts';
import { type AclToken, aclTokens } from '../acl-token.ts';
import { type AclTokenJson, aclTokenToJson } from '../acl-token-to-json.ts';
import { type Credentials, originOf, type RequestContext, writeForRequest } from '../caller.ts';
import { authorizeGrants, recordTokenChange } from '../change-token.ts';
import { findToken, tokenNotFound } from './find-token.ts';
import { parseExpiration, parseGrants, type TokenUpdate, withStoredPartitionNames } from './token-body.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError */
export async function updateToken(
  credentials: Credentials,
  context: RequestContext,
  accessorId: string,
  body: TokenUpdate,
): Promise<AclTokenJson> {
  checkSameId(body.AccessorID, accessorId);
  const grantsIn = body.Grants === undefined ? undefined : parseGrants(body.Grants, credentials.edition);
  const expiration = parseExpiration(body);
  const contextWithBody: RequestContext = { ...context, partitions: { ...context.partitions, body: body.Partition } };
  return await writeForRequest(credentials, context, (tx) => {
    const { caller, partition, stored: before } = findToken(credentials, tx, contextWithBody, accessorId, 'write');
    if (before === undefined) throw tokenNotFound(accessorId);
    const wanted = grantsIn?.(partition);
    authorizeGrants(caller, before.row.grants);
    if (wanted !== undefined) authorizeGrants(caller, wanted);
    if (expiration !== undefined) checkSameExpiration(expiration.atMs, before);
    const next: AclToken = {
      ...before.row,
      description: body.Description ?? before.row.description,
      grants: wanted === undefined ? before.row.grants : withStoredPartitionNames(tx, wanted),
    };
    // Writing an equal row would increase its index and wake queries [V1-45].
    if (isDeepStrictEqual(next, before.row)) return aclTokenToJson(before);
    const after = tx.put(aclTokens, next);
    recordTokenChange(tx, originOf(context, caller), 'update', before, after);
    return aclTokenToJson(after);
  });
}

function checkSameId(given: string | undefined, accessorId: string): void {
  if (given === undefined || given === '' || given.toLowerCase() === accessorId.toLowerCase()) return;
  throw new ServiceError('bad-request', `AccessorID "${given}" is not that of the path, "${accessorId}"`);
}

function checkSameExpiration(atMs: number | undefined, { row }: Stored<AclToken>): void {
  if (row.expirationTime !== undefined && atMs === Date.parse(row.expirationTime)) return;
  throw new ServiceError(
    'bad-request',
    `ExpirationTime cannot be changed, it is ${row.expirationTime ?? 'never'}: make a new token`,
  );
}
