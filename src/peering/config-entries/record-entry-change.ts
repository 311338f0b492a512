/** What happened to an entry, for the audit log: the entry before and after, as people see it. */
import { type Origin, recordChange } from '../../audit/record.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { ConfigEntry } from './config-entry.ts';
import { showEntry } from './entry-to-json.ts';

/** Adds the entry to the commit of `tx`; one of the two is there. */
export function recordEntryChange(
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
    before: before === undefined ? null : showEntry(before),
    after: after === undefined ? null : showEntry(after),
  });
}
