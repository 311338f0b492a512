/** `PUT /v1/acl/token`: makes a token; the answer is the only one that ever shows its secret ID. */
import { randomUUID } from 'node:crypto';
import { aclTokens, type ShownToken, showToken } from './acl-token.ts';
import { authorize } from './caller.ts';
import { authorizeGrants, recordTokenChange } from './change-token.ts';
import { type Asked, type Credentials, locate, originOf } from './operation.ts';
import { existingPartition } from './request-partition.ts';
import { hashSecret } from './secret.ts';
import { grantsInExistingPartitions, type NewToken, readExpiration, readGrants } from './token-body.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export function createToken(credentials: Credentials, asked: Asked, body: NewToken): Promise<ShownToken> {
  const named: Asked = { ...asked, partitions: { ...asked.partitions, body: body.Partition } };
  return credentials.state.write((tx) => {
    const { caller, partition } = locate(credentials, tx, named);
    const wanted = readGrants(body.Grants ?? [], partition, credentials.edition);
    const expirationTime = readExpiration(body, tx.now);
    authorize(caller, { resource: 'acl', access: 'write', partition });
    authorizeGrants(caller, wanted);
    const secretId = tx.once(randomUUID);
    const stored = tx.put(aclTokens, {
      accessorId: tx.once(randomUUID),
      secretHash: hashSecret(secretId),
      description: body.Description ?? '',
      partition: existingPartition(tx, partition),
      grants: grantsInExistingPartitions(tx, wanted),
      ...(expirationTime === undefined ? {} : { expirationTime }),
      createTime: new Date(tx.now).toISOString(),
    });
    recordTokenChange(tx, originOf(asked, caller), 'create', undefined, stored);
    return showToken(stored, secretId);
  });
}
