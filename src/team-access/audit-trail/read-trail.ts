/** Reads pages of the trail of an organization from the store, oldest first. */
import { type AuditEntry, auditKeyAt, auditLog, indexOfAuditKey } from '../../audit/record.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { type AuditTrail, auditTrails, type TrailCommit, trailCommits, trailEnd, trailKeyAt } from '../audit/trail.ts';
import type { Page } from '../jsonapi/pagination.ts';
import { TRAIL_ROWS_MAX, TRAIL_ROWS_MIN } from '../limits.ts';

/** Which entries are asked for. */
export interface TrailQuery {
  readonly organizationId: string;
  /** Only commits from this time on, milliseconds since 1970; the entries of one commit stand together. */
  readonly sinceMs: number;
  readonly page: Page;
}

/** Entries of one page, oldest first. */
export interface TrailPage {
  readonly entries: readonly DeepReadonly<AuditEntry>[];
  /** How many entries there are, on all pages. */
  readonly totalCount: number;
}

/**
 * Reads about as many rows as the page is long, wherever it stands: at most TRAIL_ROWS_MIN a commit that has entries on
 * it, and the other entries of its first and last commits. Finding `since` takes the logarithm of the trail's length.
 * @throws StateError `unavailable`
 */
export async function readTrail(state: State, query: TrailQuery, signal: AbortSignal): Promise<TrailPage> {
  const { organizationId, sinceMs, page } = query;
  const trail = state.snapshot.get(auditTrails, organizationId)?.row;
  if (trail === undefined) return { entries: [], totalCount: 0 };
  const before = sinceMs > 0 ? await lastBefore(state, trail, sinceMs, signal) : trail.removed;
  const low = before + (page.number - 1) * page.size + 1;
  const wanted = { organizationId, low, high: Math.min(low + page.size - 1, trail.count) };
  const entries = low > wanted.high ? [] : await entriesOf(state, wanted, signal);
  return { entries, totalCount: trail.count - before };
}

/** The number of the last entry of a commit before a time; the last one removed when there is none. */
async function lastBefore(
  state: State,
  { organizationId, removed, count }: DeepReadonly<AuditTrail>,
  sinceMs: number,
  signal: AbortSignal,
): Promise<number> {
  let low = removed + 1;
  let high = count + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const range = { from: trailKeyAt(organizationId, middle), to: trailEnd(organizationId), limit: 1 };
    const [commit] = await state.scan(trailCommits, range, signal);
    // One that has been removed meanwhile is too old.
    if (commit !== undefined && commit.row.timeMs >= sinceMs) high = Math.max(low, commit.row.first);
    else low = middle + 1;
  }
  return low - 1;
}

/** Numbers of entries, both ends included. */
interface Wanted {
  readonly organizationId: string;
  readonly low: number;
  readonly high: number;
}

/** The entries with these numbers. Where the next one is of a later commit, what lies between is left out. */
async function entriesOf(state: State, wanted: Wanted, signal: AbortSignal): Promise<DeepReadonly<AuditEntry>[]> {
  const entries: DeepReadonly<AuditEntry>[] = [];
  const indexes = (await commitsOf(state, wanted, signal)).map(({ index }) => index).reverse();
  const to = auditKeyAt((indexes.at(-1) ?? 0) + 1);
  let next = indexes.shift();
  let from = auditKeyAt(next ?? 0);
  for (let limit = TRAIL_ROWS_MAX; next !== undefined && entries.length <= wanted.high - wanted.low; ) {
    const rows = await state.scan(auditLog, { from, to, limit }, signal);
    entries.push(...rows.map(({ row }) => row).filter((row) => isWanted(row, wanted)));
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) break;
    const reached = indexOfAuditKey(last.row.id);
    while (next !== undefined && next < reached) next = indexes.shift();
    const goesOn = next === reached;
    from = goesOn ? `${last.row.id}~` : auditKeyAt(next ?? 0);
    limit = goesOn ? Math.min(TRAIL_ROWS_MAX, limit * 2) : TRAIL_ROWS_MIN;
  }
  return entries;
}

function isWanted({ organizationId, place }: DeepReadonly<AuditEntry>, wanted: Wanted): boolean {
  if (organizationId !== wanted.organizationId || place === undefined) return false;
  return place.number >= wanted.low && place.number <= wanted.high;
}

/** The commits with these entries, newest first. */
async function commitsOf(
  state: State,
  { organizationId, low, high }: Wanted,
  signal: AbortSignal,
): Promise<DeepReadonly<TrailCommit>[]> {
  const commits: DeepReadonly<TrailCommit>[] = [];
  const to = trailEnd(organizationId);
  for (let from = high; from >= low; ) {
    const limit = Math.min(TRAIL_ROWS_MAX, from - low + 1);
    const rows = await state.scan(trailCommits, { from: trailKeyAt(organizationId, from), to, limit }, signal);
    const oldest = rows.findIndex(({ row }) => row.first <= low);
    const wanted = oldest === -1 ? rows : rows.slice(0, oldest + 1);
    commits.push(...wanted.map(({ row }) => row));
    if (oldest !== -1 || rows.length < limit) break;
    from = (rows.at(-1)?.row.first ?? low) - 1;
  }
  return commits;
}
