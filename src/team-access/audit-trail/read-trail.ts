/** Reads pages of an organization's audit trail from the store, oldest entry first. */
import { PAGE_ENTRIES } from '../../audit/limits.ts';
import { type AuditEntry, auditKeyAt, auditLog, indexOfAuditKey } from '../../audit/record.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { type AuditTrail, auditTrails, type TrailCommit, trailCommits, trailEndKey, trailKey } from '../audit.ts';
import type { Page } from '../jsonapi/pagination.ts';
import { TRAIL_ROWS_MIN } from '../limits.ts';

export interface TrailQuery {
  readonly organizationId: string;
  /** Only commits at or after this time, in milliseconds since 1970. `since` never separates a commit [TEAM-106]. */
  readonly sinceMs: number;
  readonly page: Page;
}

export interface TrailPage {
  readonly entries: readonly DeepReadonly<AuditEntry>[];
  readonly totalCount: number;
}

/**
 * Reads one page of a trail. The cost does not depend on the page number: it reads the page's entries, the other
 * entries of its first and last commit, and at most `TRAIL_ROWS_MIN` rows per commit. `since` adds a binary search.
 * @throws StateError `unavailable`
 */
export async function readTrail(state: State, query: TrailQuery, signal: AbortSignal): Promise<TrailPage> {
  const { organizationId, sinceMs, page } = query;
  const trail = state.snapshot.get(auditTrails, organizationId)?.row;
  if (trail === undefined) return { entries: [], totalCount: 0 };
  const before = sinceMs > 0 ? await lastNumberBefore(state, trail, sinceMs, signal) : trail.removed;
  const low = before + (page.number - 1) * page.size + 1;
  const range = { organizationId, low, high: Math.min(low + page.size - 1, trail.count) };
  const entries = low > range.high ? [] : await readEntries(state, range, signal);
  return { entries, totalCount: trail.count - before };
}

/** Returns the number of the last entry before a time, or of the last removed entry if no kept entry is older. */
async function lastNumberBefore(
  state: State,
  { organizationId, removed, count }: DeepReadonly<AuditTrail>,
  sinceMs: number,
  signal: AbortSignal,
): Promise<number> {
  let low = removed + 1;
  let high = count + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const keys = { from: trailKey(organizationId, middle), to: trailEndKey(organizationId), limit: 1 };
    const [commit] = await state.scan(trailCommits, keys, signal);
    // A missing commit has been removed since the snapshot and is therefore older than all kept ones.
    if (commit !== undefined && commit.row.timeMs >= sinceMs) high = Math.max(low, commit.row.first);
    else low = middle + 1;
  }
  return low - 1;
}

/** A range of entry numbers, both ends included. */
interface NumberRange {
  readonly organizationId: string;
  readonly low: number;
  readonly high: number;
}

/** Returns the entries of a range. Skips the log between two commits of the trail, which contains other entries. */
async function readEntries(state: State, range: NumberRange, signal: AbortSignal): Promise<DeepReadonly<AuditEntry>[]> {
  const entries: DeepReadonly<AuditEntry>[] = [];
  const indexes = (await readCommits(state, range, signal)).map(({ index }) => index).reverse();
  const to = auditKeyAt((indexes.at(-1) ?? 0) + 1);
  let next = indexes.shift();
  let from = auditKeyAt(next ?? 0);
  for (let limit = PAGE_ENTRIES; next !== undefined && entries.length <= range.high - range.low; ) {
    const rows = await state.scan(auditLog, { from, to, limit }, signal);
    entries.push(...rows.map(({ row }) => row).filter((row) => isInRange(row, range)));
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) break;
    const reached = indexOfAuditKey(last.row.id);
    while (next !== undefined && next < reached) next = indexes.shift();
    const sameCommit = next === reached;
    from = sameCommit ? `${last.row.id}~` : auditKeyAt(next ?? 0);
    limit = sameCommit ? Math.min(PAGE_ENTRIES, limit * 2) : TRAIL_ROWS_MIN;
  }
  return entries;
}

function isInRange({ organizationId, place }: DeepReadonly<AuditEntry>, range: NumberRange): boolean {
  if (organizationId !== range.organizationId || place === undefined) return false;
  return place.number >= range.low && place.number <= range.high;
}

/** Returns the commits that contain entries of a range, newest first. */
async function readCommits(
  state: State,
  { organizationId, low, high }: NumberRange,
  signal: AbortSignal,
): Promise<DeepReadonly<TrailCommit>[]> {
  const commits: DeepReadonly<TrailCommit>[] = [];
  const to = trailEndKey(organizationId);
  for (let from = high; from >= low; ) {
    const limit = Math.min(PAGE_ENTRIES, from - low + 1);
    const rows = await state.scan(trailCommits, { from: trailKey(organizationId, from), to, limit }, signal);
    const oldest = rows.findIndex(({ row }) => row.first <= low);
    const inRange = oldest === -1 ? rows : rows.slice(0, oldest + 1);
    commits.push(...inRange.map(({ row }) => row));
    if (oldest !== -1 || rows.length < limit) break;
    from = (rows.at(-1)?.row.first ?? low) - 1;
  }
  return commits;
}
