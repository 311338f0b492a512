/** `DELETE /v1/operator/ca/rotate`: returns to the old CA root ([PEER-89]). */
import {
  authorize,
  originOf,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../../../credentials/caller.ts';
import { ServiceError } from '../../../http/errors.ts';
import { authorities, authorityRow, revertRotation } from '../authority.ts';
import { recordAuthorityChange } from '../record-authority-change.ts';
import { type AuthorityJson, authorityToJson } from './authority-to-json.ts';
import { CLUSTER_WIDE, type TrustContext } from './trust-context.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict` when no rotation is in progress, StateError */
export async function rotateBack({ credentials, name }: TrustContext, context: RequestContext): Promise<AuthorityJson> {
  return await writeForRequest(credentials, context, (tx) => {
    const { caller } = resolveCaller(credentials, tx, context);
    authorize(caller, { resource: 'operator', access: 'write', partition: CLUSTER_WIDE });
    const before = authorityRow(tx);
    const after = revertRotation(before);
    if (after === undefined) throw noRotationError(before.retired);
    tx.put(authorities, after);
    recordAuthorityChange(tx, originOf(context, caller), 'rotate-back', before, after);
    return authorityToJson(tx, name);
  });
}

function noRotationError(retired: { readonly id: string; readonly time: string } | undefined): ServiceError {
  const text = 'no rotation of the certificate authority is under way';
  if (retired === undefined) return new ServiceError('conflict', text);
  return new ServiceError(
    'conflict',
    `${text}: the last one ended at ${retired.time}, and the key of root ${retired.id} was deleted; rotate again for another root`,
  );
}
