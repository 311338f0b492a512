/**
 * Records changes of team access in the audit log and in audit trails, in the same commit.
 *
 * An audit trail consists of the audit entries of one organization, numbered from 1. The numbers make pages and counts
 * cheap, because the audit log exists only in the store, in commit order, and has no bound on its length.
 *
 * Memory contains one row per organization, with the number of its entries. The store contains one row per commit with
 * entries of the organization, which maps an entry number to the commit. A bulk write therefore adds one row of each
 * kind, and any page is a few ranges of the store.
 *
 * Rejected alternatives: a copy of each entry by number (doubles the store), counting by reading (up to a million
 * entries per request), and an index in memory (time bounds the log, not the number of entries).
 */
import { hash } from 'node:crypto';
import { type AuditEntry, type Origin, recordChange, type TrailPlace } from '../audit/record.ts';
import { type DeepReadonly, defineTable } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { AUDITED_SETTING_CHARACTERS_MAX } from './limits.ts';
import { organizations } from './tables/organization.ts';

export interface TeamAccessChange {
  /** Organization whose audit trail contains the entry. Absent for users. */
  readonly organizationId?: string;
  /** For example `create`, `update`, `destroy` or `add_team`. */
  readonly action: string;
  /** JSON:API type of the resource. */
  readonly type: string;
  readonly subject: string;
  /** The resource without secrets, or null when it did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Team access has no partitions, so `/v1/audit` returns its entries only with access to all partitions. */
const NO_PARTITION = '';

export function recordTeamAccessChange(tx: Transaction, origin: Origin, change: TeamAccessChange): void {
  const { organizationId, before, after } = change;
  const place = organizationId === undefined ? undefined : addToTrail(tx, organizationId);
  recordChange(tx, origin, {
    ...change,
    before: shortenSettings(before),
    after: shortenSettings(after),
    partition: NO_PARTITION,
    ...(place !== undefined && { place }),
  });
}

/** Replaces long settings, because every entry of the resource would repeat them although they have no effect. */
function shortenSettings(resource: unknown): unknown {
  if (typeof resource !== 'object' || resource === null || !('settings' in resource)) return resource;
  const settings = Object.entries(resource.settings as Readonly<Record<string, unknown>>);
  return { ...resource, settings: Object.fromEntries(settings.map(([name, value]) => [name, shortenValue(value)])) };
}

function shortenValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text.length <= AUDITED_SETTING_CHARACTERS_MAX) return value;
  return { characters: text.length, sha256: hash('sha256', text) };
}

export interface AuditTrail {
  readonly organizationId: string;
  /** Number of the newest entry. */
  readonly count: number;
  /** Highest number of a deleted entry, or 0. Retention deletes entries in order. */
  readonly removed: number;
  /** First number of the commit of that entry, which may have entries left. Absent until the first deletion. */
  readonly removing?: number;
  /** Index of the newest commit with entries, and the number of its first entry. */
  readonly index: number;
  readonly first: number;
}

export const auditTrails = defineTable<AuditTrail>()({
  name: 'audit-trails',
  key: (trail) => trail.organizationId,
  formats: { version: 1 },
  indexes: { organization: { entry: (trail) => trail.organizationId } },
  owners: [{ table: organizations, index: 'organization' }],
});

export interface TrailCommit {
  readonly organizationId: string;
  /** Number of the organization's first entry in the commit. */
  readonly first: number;
  readonly index: number;
  /** Time of the commit, in milliseconds since 1970. */
  readonly timeMs: number;
}

/** Rows in the store only. A row is purged when an entry of the organization's next commit is deleted. */
export const trailCommits = defineTable<TrailCommit>()({
  name: 'audit-trail-commits',
  key: ({ organizationId, first }) => trailKey(organizationId, first),
  formats: { version: 1 },
  indexes: {},
  storeOnly: true,
});

const NUMBER_DIGITS = String(Number.MAX_SAFE_INTEGER).length;

/**
 * Returns the key from which a forward scan finds the commits with a first number of at most `number`, newest first.
 * The first of them has the entry `number`. Keys count down, because stores scan forwards more cheaply than backwards.
 */
export const trailKey = (organizationId: string, number: number): string =>
  `${organizationId}/${String(Number.MAX_SAFE_INTEGER - number).padStart(NUMBER_DIGITS, '0')}`;

/** Returns a key after all keys of a trail. */
export const trailEndKey = (organizationId: string): string => `${organizationId}/~`;

/**
 * Adds an entry to the trail of an organization and returns its place. Returns `undefined` when the organization does
 * not exist, as after its own deletion, because nothing can read its trail.
 */
function addToTrail(tx: Transaction, organizationId: string): TrailPlace | undefined {
  if (tx.get(organizations, organizationId) === undefined) return undefined;
  const trail = tx.get(auditTrails, organizationId)?.row;
  const number = (trail?.count ?? 0) + 1;
  const first = trail?.index === tx.index ? trail.first : number;
  tx.put(auditTrails, { removed: 0, ...trail, organizationId, count: number, index: tx.index, first });
  if (first === number) tx.append(trailCommits, { organizationId, first, index: tx.index, timeMs: tx.now });
  return { number, first };
}

/** Removes a deleted entry from its trail. Ignores an entry whose number is not above the last deleted one. */
export function removeFromTrail(
  tx: Transaction,
  { organizationId, place }: Pick<AuditEntry, 'organizationId' | 'place'>,
): void {
  if (organizationId === undefined || place === undefined) return;
  const { number, first } = place;
  const trail = tx.get(auditTrails, organizationId)?.row;
  if (trail === undefined) {
    // The organization is deleted, so the entries after this one need no row.
    if (number === first) tx.purge(trailCommits, trailKey(organizationId, first));
  } else if (trail.removed < number) {
    if (trail.removing !== first) purgeCurrentCommit(tx, trail);
    tx.put(auditTrails, { ...trail, removed: number, removing: first });
  }
}

/** Deletes the row of a partly deleted commit before its organization, because no later call would find it. */
export function deleteTrail(tx: Transaction, organizationId: string): void {
  const trail = tx.get(auditTrails, organizationId)?.row;
  if (trail !== undefined) purgeCurrentCommit(tx, trail);
}

function purgeCurrentCommit(tx: Transaction, { organizationId, removing }: DeepReadonly<AuditTrail>): void {
  if (removing !== undefined) tx.purge(trailCommits, trailKey(organizationId, removing));
}
