/** `DELETE /v1/operator/ca/rotate`: goes back to the root from before the rotation that is under way. */
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, locate, originOf, writeFor } from '../../../credentials/operation.ts';
import { ServiceError } from '../../../http/errors.ts';
import { authorities, authorityOf, rotatedBack } from '../authority.ts';
import { recordAuthority } from '../record-authority.ts';
import { type ShownAuthority, showAuthority } from './authority-to-json.ts';
import { CLUSTER_WIDE, type Trust } from './operation.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict` when there is nothing to go back to, StateError */
export async function rotateBack({ credentials, name }: Trust, asked: Asked): Promise<ShownAuthority> {
  return await writeFor(credentials, asked, (tx) => {
    const { caller } = locate(credentials, tx, asked);
    authorize(caller, { resource: 'operator', access: 'write', partition: CLUSTER_WIDE });
    const before = authorityOf(tx);
    const after = rotatedBack(before);
    if (after === undefined) throw nothingToGoBackTo(before.retired);
    tx.put(authorities, after);
    recordAuthority(tx, originOf(asked, caller), 'rotate-back', before, after);
    return showAuthority(tx, name);
  });
}

function nothingToGoBackTo(retired: { readonly id: string; readonly time: string } | undefined): ServiceError {
  const text = 'no rotation of the certificate authority is under way';
  if (retired === undefined) return new ServiceError('conflict', text);
  return new ServiceError(
    'conflict',
    `${text}: the last one ended at ${retired.time}, and the key of root ${retired.id} is gone; rotate again for another root`,
  );
}
