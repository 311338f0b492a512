/** `PUT /v1/acl/token/:accessor`: changes description and grants; what the body leaves out stays as it is. */
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../http/errors.ts';
import type { Stored } from '../state/table.ts';
import { type AclToken, aclTokens, type ShownToken, showToken } from './acl-token.ts';
import { authorize } from './caller.ts';
import { authorizeGrants, recordTokenChange } from './change-token.ts';
import { findToken, tokenNotFound } from './find-token.ts';
import { type Asked, type Credentials, locate, originOf } from './operation.ts';
import { existingPartition } from './request-partition.ts';
import { type ChangedToken, grantsInExistingPartitions, readGrants } from './token-body.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError */
export function updateToken(
  credentials: Credentials,
  asked: Asked,
  accessorId: string,
  body: ChangedToken,
): Promise<ShownToken> {
  const named: Asked = { ...asked, partitions: { ...asked.partitions, body: body.Partition } };
  return credentials.state.write((tx) => {
    checkSame('AccessorID', body.AccessorID?.toLowerCase(), accessorId.toLowerCase());
    const { caller, partition } = locate(credentials, tx, named);
    const wanted = body.Grants === undefined ? undefined : readGrants(body.Grants, partition, credentials.edition);
    authorize(caller, { resource: 'acl', access: 'write', partition });
    existingPartition(tx, partition);
    const before = findToken(tx, accessorId, partition);
    if (before === undefined) throw tokenNotFound(accessorId);
    authorizeGrants(caller, before.row.grants);
    if (wanted !== undefined) authorizeGrants(caller, wanted);
    checkExpiration(body.ExpirationTime, before);
    const next: AclToken = {
      ...before.row,
      description: body.Description ?? before.row.description,
      grants: wanted === undefined ? before.row.grants : grantsInExistingPartitions(tx, wanted),
    };
    // A change that changes nothing leaves no trace: no index moves, nobody wakes.
    if (isDeepStrictEqual(next, before.row)) return showToken(before);
    const after = tx.put(aclTokens, next);
    recordTokenChange(tx, originOf(asked, caller), 'update', before, after);
    return showToken(after);
  });
}

function checkSame(field: string, given: string | undefined, standing: string): void {
  if (given === undefined || given === '' || given === standing) return;
  throw new ServiceError('bad-request', `${field} "${given}" is not that of the path, "${standing}"`);
}

function checkExpiration(given: string | undefined, { row }: Stored<AclToken>): void {
  if (given === undefined || given === '') return;
  const standing = row.expirationTime === undefined ? Number.NaN : Date.parse(row.expirationTime);
  if (Date.parse(given) === standing) return;
  throw new ServiceError(
    'bad-request',
    `ExpirationTime cannot be changed, it is ${row.expirationTime ?? 'never'}: make a new token`,
  );
}
