/**
 * The audit log: who changed what, when and from where, appended in the commit that makes the change. It lies in the
 * store only; `GET /v1/audit` reads it from there.
 */
import { defineTable } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';

/** Where a change comes from. */
export interface Origin {
  /** The accessor ID of the caller's token, `anonymous`, `peer` (another cluster), or `system` (the server by itself). */
  readonly actor: string;
  /** The address of the caller; empty for `system`. */
  readonly address: string;
  readonly requestId: string;
}

/** What the server does by itself. */
export const SYSTEM: Origin = { actor: 'system', address: '', requestId: '' };

/** Where an entry stands among those of its organization, which are numbered from 1. */
export interface TrailPlace {
  readonly number: number;
  /** The number of the first one that the same commit made. */
  readonly first: number;
}

/** One entry. `before` and `after` are the thing as the API shows it, without secrets; null where it did not exist. */
export interface AuditEntry {
  readonly id: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly actor: string;
  readonly address: string;
  readonly requestId: string;
  /** What was done, such as `create`, `update`, `delete`, `expire`. */
  readonly action: string;
  /** What kind of thing, such as `acl-token` or `partition`. */
  readonly type: string;
  /** Its id or name. */
  readonly subject: string;
  readonly partition: string;
  /** The organization that it belongs to, for what team access changes. */
  readonly organizationId?: string;
  /** Its place in that organization's trail; absent once the organization is gone. */
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

/** What changed. */
export type AuditedChange = Pick<
  AuditEntry,
  'action' | 'type' | 'subject' | 'partition' | 'organizationId' | 'place' | 'before' | 'after'
>;

/** Index digits, then the place within the commit: byte order is the order of events. */
const INDEX_DIGITS = 16;
const POSITION_DIGITS = 6;

/** The smallest key that an entry of the commit at `index` can have. */
export const auditKeyAt = (index: number): string => String(index).padStart(INDEX_DIGITS, '0');

/** The index of the commit that an entry's key, or the smallest one of a commit, is of. */
export const indexOfAuditKey = (key: string): number => Number(key.slice(0, INDEX_DIGITS));

const KEY = new RegExp(`^\\d{${INDEX_DIGITS}}-\\d{${POSITION_DIGITS}}$`);

/** Whether a text has the form of an entry's key. */
export const isAuditKey = (text: string): boolean => KEY.test(text);

/** Adds an entry to the commit of `tx`. */
export function recordChange(tx: Transaction, origin: Origin, change: AuditedChange): void {
  const id = `${auditKeyAt(tx.index)}-${String(tx.position).padStart(POSITION_DIGITS, '0')}`;
  tx.append(auditLog, { id, time: new Date(tx.now).toISOString(), ...origin, ...change });
}
