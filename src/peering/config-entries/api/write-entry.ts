/** `PUT /v1/config`: makes an entry or replaces it. */
import { type Asked, type Credentials, originOf, writeFor } from '../../../credentials/operation.ts';
import { withBodyPartition } from '../../find/find-peering.ts';
import { configEntries } from '../config-entry.ts';
import type { NamedBody } from '../edit/entry-body.ts';
import { newEntry, sameEntry, warningOf } from '../edit/new-entry.ts';
import { recordEntryChange } from '../record-entry-change.ts';
import { isAsSeen } from './compare-and-set.ts';
import { findEntry } from './find-entry.ts';

export interface Written {
  /** false: `cas` did not hold. */
  readonly done: boolean;
  /** What the caller may not have meant. */
  readonly warning?: string | undefined;
}

/**
 * Leaves an entry that says the same as it is, its index too.
 * @param cas see `readCas`
 * @throws ServiceError `bad-request` | `permission-denied`, StateError
 */
export async function writeEntry(
  credentials: Credentials,
  given: Asked,
  body: NamedBody,
  cas: number | undefined,
): Promise<Written> {
  const { edition } = credentials;
  const asked = withBodyPartition(given, body.Partition);
  return await writeFor(credentials, asked, (tx): Written => {
    const wanted = { asked, kind: body.Kind, name: body.Name, access: 'write' } as const;
    const { caller, partition, stored: before } = findEntry(credentials, tx, wanted);
    const entry = { ...newEntry(body, partition, { reader: tx, edition }), ...(before && { name: before.row.name }) };
    if (!isAsSeen(before, cas)) return { done: false };
    const warning = warningOf(tx, entry);
    if (before === undefined || !sameEntry(before.row, entry)) {
      const after = tx.put(configEntries, entry);
      recordEntryChange(tx, originOf(asked, caller), { before, after });
    }
    return { done: true, warning };
  });
}
