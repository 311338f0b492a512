/**
 * The trail of an organization: its entries of the audit log, numbered from 1. Numbers make pages and counts cheap: the
 * log itself lies in the store only, in the order of all commits, and reading through it to count would have no bound.
 *
 * In memory there is one row for each organization, which knows how many entries there are; in the store one row for each
 * commit with entries of the organization, which leads from a number to the commit. So a bulk write adds one of each,
 * however much it changes, and any page is a few ranges of the store.
 *
 * Refused: a copy of each entry under its number (twice the store); a count by reading (a million entries a request); an
 * index in memory (the log is bounded by time, not by number).
 */
import type { AuditEntry, TrailPlace } from '../../audit/record.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { organizations } from '../tables/organization.ts';

/** What is known of a trail without reading it. */
export interface AuditTrail {
  readonly organizationId: string;
  /** The number of the newest entry. */
  readonly count: number;
  /** The highest number whose entry was removed, since its time was over; 0: none. */
  readonly removed: number;
  /** The number of the first entry of the commit that one is of: others of it may still be there. Absent: none removed. */
  readonly removing?: number;
  /** The index of the newest commit with entries, and the number of its first one. */
  readonly index: number;
  readonly first: number;
}

/** In memory, one row for each organization with entries; it goes with the organization. */
export const auditTrails = defineTable<AuditTrail>()({
  name: 'audit-trails',
  key: (trail) => trail.organizationId,
  formats: { version: 1 },
  indexes: { organization: { entry: (trail) => trail.organizationId } },
  owners: [{ table: organizations, index: 'organization' }],
});

/** A commit with entries of an organization. */
export interface TrailCommit {
  readonly organizationId: string;
  /** The number of its first entry. */
  readonly first: number;
  readonly index: number;
  /** When it was made, milliseconds since 1970. */
  readonly timeMs: number;
}

/** In the store alone. Each stays while entries of its commit may be there: until one of the next commit is removed. */
export const trailCommits = defineTable<TrailCommit>()({
  name: 'audit-trail-commits',
  key: ({ organizationId, first }) => trailKeyAt(organizationId, first),
  formats: { version: 1 },
  indexes: {},
  storeOnly: true,
});

const NUMBER_DIGITS = String(Number.MAX_SAFE_INTEGER).length;

/**
 * From this key on lie the commits whose entries begin at `number` or below, the newest first: the first of them has the
 * entry `number`. Counted down, since stores read forwards more cheaply than backwards.
 */
export const trailKeyAt = (organizationId: string, number: number): string =>
  `${organizationId}/${String(Number.MAX_SAFE_INTEGER - number).padStart(NUMBER_DIGITS, '0')}`;

/** Above all keys of a trail. */
export const trailEnd = (organizationId: string): string => `${organizationId}/~`;

/**
 * The place of the next entry in the trail of an organization; `undefined` when that is gone, as after its own deletion:
 * nobody could read it there.
 */
export function nextPlace(tx: Transaction, organizationId: string): TrailPlace | undefined {
  if (tx.get(organizations, organizationId) === undefined) return undefined;
  const trail = tx.get(auditTrails, organizationId)?.row;
  const number = (trail?.count ?? 0) + 1;
  const first = trail?.index === tx.index ? trail.first : number;
  tx.put(auditTrails, { removed: 0, ...trail, organizationId, count: number, index: tx.index, first });
  if (first === number) tx.append(trailCommits, { organizationId, first, index: tx.index, timeMs: tx.now });
  return { number, first };
}

/** Takes an entry that is removed from the log out of its trail. Entries go in order; one that is late changes nothing. */
export function leaveTrail(
  tx: Transaction,
  { organizationId, place }: Pick<AuditEntry, 'organizationId' | 'place'>,
): void {
  if (organizationId === undefined || place === undefined) return;
  const { number, first } = place;
  const trail = tx.get(auditTrails, organizationId)?.row;
  if (trail === undefined) {
    // Nobody reads on in the trail of an organization that is gone.
    if (number === first) tx.purge(trailCommits, trailKeyAt(organizationId, first));
  } else if (trail.removed < number) {
    if (trail.removing !== first) purgeRemoving(tx, trail);
    tx.put(auditTrails, { ...trail, removed: number, removing: first });
  }
}

/** Before an organization goes, and its trail with it: lets go of what would then be found by nobody. */
export function endTrail(tx: Transaction, organizationId: string): void {
  const trail = tx.get(auditTrails, organizationId)?.row;
  if (trail !== undefined) purgeRemoving(tx, trail);
}

function purgeRemoving(tx: Transaction, { organizationId, removing }: DeepReadonly<AuditTrail>): void {
  if (removing !== undefined) tx.purge(trailCommits, trailKeyAt(organizationId, removing));
}
