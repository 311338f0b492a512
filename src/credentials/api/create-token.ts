/** `PUT /v1/acl/token`. The response is the only one with the secret ID [ACL-14]. */
import { randomUUID } from 'node:crypto';
import { aclTokens } from '../acl-token.ts';
import { type AclTokenJson, aclTokenToJson } from '../acl-token-to-json.ts';
import {
  authorize,
  type Credentials,
  originOf,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../caller.ts';
import { authorizeGrants, recordTokenChange } from '../change-token.ts';
import { hashSecret, orderedUuid } from '../ids-and-secrets.ts';
import { existingPartition } from '../partition.ts';
import { expirationTime, type NewToken, parseExpiration, parseGrants, withStoredPartitionNames } from './token-body.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function createToken(
  credentials: Credentials,
  context: RequestContext,
  body: NewToken,
): Promise<AclTokenJson> {
  const grantsIn = parseGrants(body.Grants ?? [], credentials.edition);
  const expiration = parseExpiration(body);
  const contextWithBody: RequestContext = { ...context, partitions: { ...context.partitions, body: body.Partition } };
  return await writeForRequest(credentials, context, (tx) => {
    const { caller, partition } = resolveCaller(credentials, tx, contextWithBody);
    const wanted = grantsIn(partition);
    authorize(caller, { resource: 'acl', access: 'write', partition });
    authorizeGrants(caller, wanted);
    const secretId = tx.memoizeAcrossRetries(randomUUID);
    const stored = tx.put(aclTokens, {
      accessorId: tx.memoizeAcrossRetries(orderedUuid),
      secretHash: hashSecret(secretId),
      description: body.Description ?? '',
      partition: existingPartition(tx, partition),
      grants: withStoredPartitionNames(tx, wanted),
      ...(expiration === undefined ? {} : { expirationTime: expirationTime(expiration, tx.now) }),
      createTime: new Date(tx.now).toISOString(),
    });
    recordTokenChange(tx, originOf(context, caller), 'create', undefined, stored);
    return aclTokenToJson(stored, secretId);
  });
}
