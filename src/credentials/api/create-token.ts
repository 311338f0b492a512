/** `PUT /v1/acl/token`: makes a token; the answer is the only one that ever shows its secret ID. */
import { randomUUID } from 'node:crypto';
import { aclTokens, type ShownToken, showToken } from '../acl-token.ts';
import { authorize } from '../caller.ts';
import { authorizeGrants, recordTokenChange } from '../change-token.ts';
import { type Asked, type Credentials, locate, originOf, writeFor } from '../operation.ts';
import { orderedUuid } from '../ordered-uuid.ts';
import { existingPartition } from '../request-partition.ts';
import { hashSecret } from '../secret.ts';
import { expirationTime, grantsOf, inExistingPartitions, type NewToken, readExpiration } from './token-body.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function createToken(credentials: Credentials, asked: Asked, body: NewToken): Promise<ShownToken> {
  const grantsIn = grantsOf(body.Grants ?? [], credentials.edition);
  const expiration = readExpiration(body);
  const named: Asked = { ...asked, partitions: { ...asked.partitions, body: body.Partition } };
  return await writeFor(credentials, asked, (tx) => {
    const { caller, partition } = locate(credentials, tx, named);
    const wanted = grantsIn(partition);
    authorize(caller, { resource: 'acl', access: 'write', partition });
    authorizeGrants(caller, wanted);
    const secretId = tx.once(randomUUID);
    const stored = tx.put(aclTokens, {
      accessorId: tx.once(orderedUuid),
      secretHash: hashSecret(secretId),
      description: body.Description ?? '',
      partition: existingPartition(tx, partition),
      grants: inExistingPartitions(tx, wanted),
      ...(expiration === undefined ? {} : { expirationTime: expirationTime(expiration, tx.now) }),
      createTime: new Date(tx.now).toISOString(),
    });
    recordTokenChange(tx, originOf(asked, caller), 'create', undefined, stored);
    return showToken(stored, secretId);
  });
}
