/** `DELETE /v1/peering/:name/token`: the unused token is good for nothing any more. A live stream stays. Idempotent. */
import { type Asked, originOf, writeFor } from '../../credentials/operation.ts';
import { findPeering } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName } from '../record/peer-name.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { acceptedSecrets, isOutstanding } from '../record/secrets.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function revokeToken({ credentials }: PeeringService, asked: Asked, name: string): Promise<void> {
  checkPeerName(name);
  await writeFor(credentials, asked, (tx) => {
    const { caller, stored } = findPeering(credentials, tx, { asked, name, access: 'write' });
    const secrets = stored === undefined ? undefined : tx.get(acceptedSecrets, stored.row.id)?.row;
    if (stored === undefined || secrets === undefined || !isOutstanding(secrets.establishment, tx.now)) return;
    const { establishment: _revoked, ...kept } = secrets;
    tx.put(acceptedSecrets, kept);
    recordPeeringChange(tx, originOf(asked, caller), { action: 'revoke-token', before: stored, after: stored });
  });
}
