/** What happened to a peering, for the audit log: the record before and after, as people see it, without secrets. */
import { type Origin, recordChange } from '../../audit/record.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { Peering } from './record.ts';
import { type ShownPeering, showPeering } from './record-to-json.ts';

export type PeeringAction = 'generate-token' | 'revoke-token' | 'exchange-secret' | 'establish' | 'delete';

/** The record before and after; the same twice where only its secrets changed. */
export interface PeeringChange {
  readonly action: PeeringAction;
  readonly before: Stored<Peering> | undefined;
  readonly after: Stored<Peering>;
}

/** Adds the entry to the commit of `tx`. */
export function recordPeeringChange(tx: Transaction, origin: Origin, { action, before, after }: PeeringChange): void {
  const { name, partition } = after.row;
  const shown = show(after);
  recordChange(tx, origin, {
    action,
    type: 'peering',
    subject: name,
    partition,
    before: before === undefined ? null : before === after ? shown : show(before),
    after: shown,
  });
}

const show = (stored: Stored<Peering>): ShownPeering => showPeering(stored, { listed: true });
