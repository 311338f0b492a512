/** Audit entries of peerings, with the record before and after as JSON. Records contain no secrets. */
import { type Origin, recordChange } from '../../audit/record.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { Peering } from './record.ts';
import { type PeeringJson, peeringToJson } from './record-to-json.ts';

export type PeeringAction = 'generate-token' | 'revoke-token' | 'exchange-secret' | 'establish' | 'delete';

/** A change of a peering. `before` is `after` when only secrets changed. */
export interface PeeringChange {
  readonly action: PeeringAction;
  readonly before: Stored<Peering> | undefined;
  readonly after: Stored<Peering>;
}

export function recordPeeringChange(tx: Transaction, origin: Origin, { action, before, after }: PeeringChange): void {
  const { name, partition } = after.row;
  const json = toJson(after);
  recordChange(tx, origin, {
    action,
    type: 'peering',
    subject: name,
    partition,
    before: before === undefined ? null : before === after ? json : toJson(before),
    after: json,
  });
}

const toJson = (stored: Stored<Peering>): PeeringJson => peeringToJson(stored, { listed: true });
