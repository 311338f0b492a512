/** `DELETE /v1/config/:kind/:name`: idempotent. */
import { type Asked, type Credentials, originOf, writeFor } from '../../../credentials/operation.ts';
import { configEntries, type Kind } from '../config-entry.ts';
import { recordEntryChange } from '../record-entry-change.ts';
import { isAsSeen } from './compare-and-set.ts';
import { findEntry } from './find-entry.ts';

/**
 * @param cas see `readCas`
 * @returns false: `cas` did not hold
 * @throws ServiceError `bad-request` | `permission-denied`, StateError
 */
export async function deleteEntry(
  credentials: Credentials,
  asked: Asked,
  { kind, name }: { readonly kind: Kind; readonly name: string },
  cas: number | undefined,
): Promise<boolean> {
  return await writeFor(credentials, asked, (tx) => {
    const { caller, key, stored } = findEntry(credentials, tx, { asked, kind, name, access: 'write' });
    if (!isAsSeen(stored, cas)) return false;
    if (stored === undefined) return true;
    tx.delete(configEntries, key);
    recordEntryChange(tx, originOf(asked, caller), { before: stored, after: undefined });
    return true;
  });
}
