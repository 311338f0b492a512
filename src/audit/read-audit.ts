/** Reads the audit log from the store, newest first. */

import { type Static, Type } from 'typebox';
import { answerLimits } from '../http/answer-limits.ts';
import type { State } from '../state/state.ts';
import type { DeepReadonly } from '../state/table.ts';
import { FIRST_PAGE_ENTRIES, PAGE_CHARACTERS, PAGE_ENTRIES, SINCE_TOLERANCE_MS, STEP_COMMITS } from './limits.ts';
import { type AuditEntry, auditKeyAt, auditLog, indexOfAuditKey } from './record.ts';

export interface AuditQuery {
  /** Earliest time of an entry, in ms since 1970. An entry older by `SINCE_TOLERANCE_MS` ends the read. */
  readonly sinceMs: number;
  /** Key of the entry to start before. `undefined` starts at the newest entry. */
  readonly before: string | undefined;
  readonly limit: number;
  readonly scannedMax: number;
  /** Largest total length of the examined entries as JSON. One entry is always read. */
  readonly charactersMax: number;
  /** Whether the request selects the entry. */
  readonly wanted: (entry: AuditEntry) => boolean;
  /** Whether the caller may read the entry. */
  readonly visible: (entry: AuditEntry) => boolean;
}

export const auditEntrySchema = Type.Object(
  {
    Time: Type.String({ description: 'RFC 3339' }),
    Actor: Type.String({
      description: 'An accessor ID, anonymous, or system for changes that the server makes by itself.',
    }),
    Address: Type.String({ description: 'The remote address of the request; empty for system.' }),
    RequestID: Type.String(),
    Action: Type.String({ description: 'For example create, update, delete, expire.' }),
    Type: Type.String({ description: 'The type of the changed object.' }),
    Subject: Type.String({ description: 'The id or name of the changed object.' }),
    Partition: Type.String(),
    Before: Type.Unknown({ description: 'The object before the change, without secrets; null if it did not exist.' }),
    After: Type.Unknown({ description: 'The object after the change, without secrets; null if it was deleted.' }),
  },
  { title: 'AuditEntry' },
);
export type AuditEntryJson = Readonly<Static<typeof auditEntrySchema>>;

export interface AuditPage {
  readonly entries: readonly AuditEntryJson[];
  /** Whether entries were omitted that the caller may not read. */
  readonly filtered: boolean;
  /** Key to continue before, if there may be older entries. */
  readonly next: string | undefined;
}

/** Reads the newest entries. @throws StateError `unavailable` */
export async function readAudit(state: State, query: AuditQuery, signal: AbortSignal): Promise<AuditPage> {
  const { before, sinceMs, limit, scannedMax, charactersMax, wanted, visible } = query;
  const entries: AuditEntryJson[] = [];
  let filtered = false;
  let scanned = 0;
  let characters = 0;
  let oldest: string | undefined;
  for await (const { row, length } of newestFirst(state, before, signal)) {
    const time = Date.parse(row.time);
    if (time < sinceMs - SINCE_TOLERANCE_MS) break;
    const isEnough = scanned === scannedMax || (scanned > 0 && characters + length > charactersMax);
    if (entries.length === limit || isEnough) return { entries, filtered, next: oldest };
    scanned += 1;
    characters += length;
    oldest = row.id;
    // Does not end the read: entries are in commit order, and a clock that was set back makes older times come later.
    if (time < sinceMs || !wanted(row)) continue;
    if (visible(row)) entries.push(entryToJson(row));
    else filtered = true;
  }
  return { entries, filtered, next: undefined };
}

/** An entry and its length as JSON. */
interface MeasuredEntry {
  readonly row: DeepReadonly<AuditEntry>;
  readonly length: number;
}

/** The number of entries to read at once, adapted to the size of earlier ones. */
interface PageSize {
  entries: number;
}

/** Yields entries from `before` backwards, in ranges of commits small enough for the store to sort. */
async function* newestFirst(
  state: State,
  before: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<MeasuredEntry> {
  const pace: PageSize = { entries: FIRST_PAGE_ENTRIES };
  const newest = auditKeyAt(state.snapshot.index + 1);
  let end = before === undefined || before > newest ? newest : before;
  for (let step = STEP_COMMITS, start = indexOfAuditKey(end); start > 0; ) {
    start = Math.max(0, start - step);
    let found = 0;
    for await (const entry of inSpan(state, { from: auditKeyAt(start), to: end }, pace, signal)) {
      found += 1;
      yield entry;
    }
    end = auditKeyAt(start);
    step = found < PAGE_ENTRIES ? step * 2 : STEP_COMMITS;
  }
}

async function* inSpan(
  state: State,
  { from, to: end }: { readonly from: string; readonly to: string },
  pace: PageSize,
  signal: AbortSignal,
): AsyncGenerator<MeasuredEntry> {
  for (let to = end; ; ) {
    const limit = pace.entries;
    const page = await state.scan(auditLog, { from, to, limit, reverse: true }, signal);
    let largest = 0;
    for (const { row } of page) {
      const { length } = JSON.stringify(row);
      largest = Math.max(largest, length);
      yield { row, length };
    }
    const oldest = page.at(-1);
    if (oldest === undefined) return;
    // Uses the largest entry of this page, because a mean would hide it, and older pages would slow the whole read.
    const fitting = Math.max(Math.floor(Math.min(PAGE_CHARACTERS, answerLimits().charactersMax / 8) / largest), 1);
    // Small entries predict little about the next ones, so a full page at most doubles the size.
    const allowed = page.length < limit ? limit : limit * 2;
    pace.entries = Math.min(fitting, allowed, PAGE_ENTRIES);
    if (page.length < limit) return;
    to = oldest.row.id;
  }
}

function entryToJson(entry: AuditEntry): AuditEntryJson {
  return {
    Time: entry.time,
    Actor: entry.actor,
    Address: entry.address,
    RequestID: entry.requestId,
    Action: entry.action,
    Type: entry.type,
    Subject: entry.subject,
    Partition: entry.partition,
    Before: entry.before,
    After: entry.after,
  };
}
