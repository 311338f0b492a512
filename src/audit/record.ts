/** The audit log. Entries are appended in the commit of the change and exist only in the store; see read-audit.ts. */
import { defineTable } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';

export interface Origin {
  /**
   * The accessor ID of the caller's token, `anonymous`, `peer` (another cluster), or `system` (the server by itself).
   */
  readonly actor: string;
  /** The address of the caller; empty for `system`. */
  readonly address: string;
  readonly requestId: string;
}

export const SYSTEM: Origin = { actor: 'system', address: '', requestId: '' };

/** The position of an entry in its organization's audit trail. */
export interface TrailPlace {
  readonly number: number;
  /** The number of the first entry of the same commit. */
  readonly first: number;
}

/** One entry. `before` and `after` are the object's JSON in the API, without secrets, or null if it did not exist. */
export interface AuditEntry {
  readonly id: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly actor: string;
  readonly address: string;
  readonly requestId: string;
  /** For example `create`, `update`, `delete`, `expire`. */
  readonly action: string;
  /** The type of the object, for example `acl-token` or `partition`. */
  readonly type: string;
  /** The id or name of the object. */
  readonly subject: string;
  readonly partition: string;
  /** The organization of the object, for changes of team access. */
  readonly organizationId?: string;
  /** The position in the organization's trail. Absent after the organization was deleted. */
  readonly place?: TrailPlace;
  readonly before: unknown;
  readonly after: unknown;
}

export const auditLog = defineTable<AuditEntry>()({
  name: 'audit',
  key: (entry) => entry.id,
  formats: { version: 1 },
  indexes: {},
  storeOnly: true,
});

export type AuditedChange = Pick<
  AuditEntry,
  'action' | 'type' | 'subject' | 'partition' | 'organizationId' | 'place' | 'before' | 'after'
>;

/** A key is the commit's index and the position in the commit, padded so that byte order is the order of events. */
const INDEX_DIGITS = 16;
const POSITION_DIGITS = 6;

/** Returns the smallest key of an entry of the commit at `index`. */
export const auditKeyAt = (index: number): string => String(index).padStart(INDEX_DIGITS, '0');

/** Returns the commit index in a key of an entry or in a result of `auditKeyAt`. */
export const indexOfAuditKey = (key: string): number => Number(key.slice(0, INDEX_DIGITS));

const KEY = new RegExp(`^\\d{${INDEX_DIGITS}}-\\d{${POSITION_DIGITS}}$`);

export const isAuditKey = (text: string): boolean => KEY.test(text);

export function recordChange(tx: Transaction, origin: Origin, change: AuditedChange): void {
  const id = `${auditKeyAt(tx.index)}-${String(tx.position).padStart(POSITION_DIGITS, '0')}`;
  tx.append(auditLog, { id, time: new Date(tx.now).toISOString(), ...origin, ...change });
}
