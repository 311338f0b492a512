/** `PUT /v1/config` and `DELETE /v1/config/:kind/:name`: change an entry and record the change in the audit log. */
import { Type } from 'typebox';
import { type Origin, recordChange } from '../../../audit/record.ts';
import {
  type Credentials,
  originOf,
  type RequestContext,
  writeForRequest,
  writeInSlicesForRequest,
} from '../../../credentials/caller.ts';
import type { Query } from '../../../http/call.ts';
import { ServiceError } from '../../../http/errors.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { runAtOnce, type Steps } from '../../../state/clock/slices.ts';
import type { Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { withBodyPartition } from '../../find/find-peering.ts';
import { type ConfigEntry, configEntries, type Kind } from '../config-entry.ts';
import type { NamedBody } from '../edit/entry-body.ts';
import { isSameEntry, missingPeersWarning, newEntry } from '../edit/new-entry.ts';
import { entryToJson } from '../entry-to-json.ts';
import { LARGE_ENTRY_BYTES } from '../limits.ts';
import { findEntry } from './find-entry.ts';

export interface WriteResult {
  /** Whether the condition of `cas` held. */
  readonly done: boolean;
  readonly warning?: string | undefined;
}

/**
 * Creates or replaces an entry. An equivalent entry remains unchanged, with its index ([SVC-64]).
 * @param cas see `readCas`
 * @throws ServiceError `bad-request` | `permission-denied`, StateError
 */
export async function writeEntry(
  credentials: Credentials,
  given: RequestContext,
  body: NamedBody,
  cas: number | undefined,
): Promise<WriteResult> {
  const { edition } = credentials;
  const context = withBodyPartition(given, body.Partition);
  return await write(credentials, context, function* (tx): Steps<WriteResult> {
    const request = { context, kind: body.Kind, name: body.Name, access: 'write' } as const;
    const { caller, partition, stored: before } = findEntry(credentials, tx, request);
    const entry = {
      ...(yield* newEntry(body, partition, { reader: tx, edition, caller })),
      ...(before && { name: before.row.name }),
    };
    yield;
    if (!isUnchangedSince(before, cas)) return { done: false };
    const warning = missingPeersWarning(tx, caller, entry);
    yield;
    if (before === undefined || !isSameEntry(before.row, entry)) {
      yield;
      const after = tx.put(configEntries, entry);
      yield;
      recordEntryChange(tx, originOf(context, caller), { before, after });
    }
    return { done: true, warning };
  });
}

/** Writes a large entry in slices. */
async function write<T>(
  credentials: Credentials,
  context: RequestContext,
  change: (tx: Transaction) => Steps<T>,
): Promise<T> {
  return context.bodyBytes > LARGE_ENTRY_BYTES
    ? await writeInSlicesForRequest(credentials, context, change)
    : await writeForRequest(credentials, context, (tx) => runAtOnce(change(tx)));
}

/**
 * Deletes an entry. Deleting a missing entry succeeds ([SVC-67]).
 * @param cas see `readCas`
 * @returns false if the condition of `cas` failed
 * @throws ServiceError `bad-request` | `permission-denied`, StateError
 */
export async function deleteEntry(
  credentials: Credentials,
  context: RequestContext,
  { kind, name }: { readonly kind: Kind; readonly name: string },
  cas: number | undefined,
): Promise<boolean> {
  return await writeForRequest(credentials, context, (tx) => {
    const { caller, key, stored } = findEntry(credentials, tx, { context, kind, name, access: 'write' });
    if (!isUnchangedSince(stored, cas)) return false;
    if (stored === undefined) return true;
    tx.delete(configEntries, key);
    recordEntryChange(tx, originOf(context, caller), { before: stored, after: undefined });
    return true;
  });
}

/** The parameter `cas`, which makes a write or deletion conditional ([SVC-65]). */
export const CAS: Parameter = {
  name: 'cas',
  description:
    'Changes the entry only if it still has this ModifyIndex, or with 0 only if it is missing. Otherwise the answer is false.',
  schema: Type.Integer({ minimum: 0 }),
};

/**
 * Returns the index, or undefined for an unconditional change. Rejects an empty value, because it is probably an unset
 * variable of a caller that wants the condition.
 * @throws ServiceError `bad-request`
 */
export function readCas(query: Query): number | undefined {
  const text = query.get(CAS.name);
  if (text === undefined) return undefined;
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const given = JSON.stringify(text.slice(0, QUOTED_LENGTH_MAX));
  throw new ServiceError('bad-request', `Invalid cas ${given}: want the ModifyIndex of the entry, or 0 for none`);
}

const isUnchangedSince = (stored: Stored<unknown> | undefined, cas: number | undefined): boolean =>
  cas === undefined || cas === (stored?.modifyIndex ?? 0);

/** Adds an audit entry to `tx`. At least one of `before` and `after` must exist. */
function recordEntryChange(
  tx: Transaction,
  origin: Origin,
  { before, after }: Readonly<Record<'before' | 'after', Stored<ConfigEntry> | undefined>>,
): void {
  const changed = after ?? before;
  if (changed === undefined) return;
  const { kind, name, partition } = changed.row;
  recordChange(tx, origin, {
    action: before === undefined ? 'create' : after === undefined ? 'delete' : 'update',
    type: 'config-entry',
    subject: `${kind}/${name}`,
    partition,
    before: before === undefined ? null : entryToJson(before),
    after: after === undefined ? null : entryToJson(after),
  });
}
