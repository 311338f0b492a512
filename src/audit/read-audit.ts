/** Reads the audit log from the store, newest first. */
import { type Static, Type } from 'typebox';
import type { State } from '../state/state.ts';
import type { DeepReadonly } from '../state/table.ts';
import { FIRST_PAGE_ENTRIES, PAGE_CHARACTERS, PAGE_ENTRIES, SINCE_TOLERANCE_MS, STEP_COMMITS } from './limits.ts';
import { type AuditEntry, auditKeyAt, auditLog, indexOfAuditKey } from './record.ts';

export interface AuditQuery {
  /** Only entries from this time on, milliseconds since 1970; one that is older by `SINCE_TOLERANCE_MS` ends the read. */
  readonly sinceMs: number;
  /** Only entries before this one; undefined: from the newest on. */
  readonly before: string | undefined;
  readonly limit: number;
  /** How many entries may be read to find them. */
  readonly scannedMax: number;
  /** How long those may be together, as JSON; one is read in any case. */
  readonly charactersMax: number;
  /** Which entries are asked for. */
  readonly wanted: (entry: AuditEntry) => boolean;
  /** Which of them the caller may read. */
  readonly visible: (entry: AuditEntry) => boolean;
}

/** An entry as the API shows it. */
export const auditEntrySchema = Type.Object(
  {
    Time: Type.String({ description: 'RFC 3339' }),
    Actor: Type.String({ description: 'An accessor ID; anonymous; or system, for what the server does by itself.' }),
    Address: Type.String({ description: 'Where the request came from; empty for system.' }),
    RequestID: Type.String(),
    Action: Type.String({ description: 'Such as create, update, delete, expire.' }),
    Type: Type.String({ description: 'What kind of thing was changed.' }),
    Subject: Type.String({ description: 'Its id or name.' }),
    Partition: Type.String(),
    Before: Type.Unknown({ description: 'The thing as the API shows it, without secrets; null: it did not exist.' }),
    After: Type.Unknown({ description: 'Likewise.' }),
  },
  { title: 'AuditEntry' },
);
export type ShownAuditEntry = Readonly<Static<typeof auditEntrySchema>>;

export interface AuditPage {
  readonly entries: readonly ShownAuditEntry[];
  /** Entries were left out that the caller may not read. */
  readonly filtered: boolean;
  /** There may be older entries: those before this one. */
  readonly next: string | undefined;
}

/** The newest entries. @throws StateError `unavailable` */
export async function readAudit(state: State, query: AuditQuery, signal: AbortSignal): Promise<AuditPage> {
  const { before, sinceMs, limit, scannedMax, charactersMax, wanted, visible } = query;
  const entries: ShownAuditEntry[] = [];
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
    // Not the end yet: the order is that of commits, and behind what a clock made that was set back stands younger.
    if (time < sinceMs || !wanted(row)) continue;
    if (visible(row)) entries.push(showEntry(row));
    else filtered = true;
  }
  return { entries, filtered, next: undefined };
}

/** An entry, and how long it is as JSON. */
interface Read {
  readonly row: DeepReadonly<AuditEntry>;
  readonly length: number;
}

/** How many entries are read at once, going by those that were. */
interface Pace {
  entries: number;
}

/** The entries before one, or all, in spans of commits that are small enough for the store not to have to sort much. */
async function* newestFirst(state: State, before: string | undefined, signal: AbortSignal): AsyncGenerator<Read> {
  const pace: Pace = { entries: FIRST_PAGE_ENTRIES };
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
  pace: Pace,
  signal: AbortSignal,
): AsyncGenerator<Read> {
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
    // By the largest, since a mean hides it; of this page alone, so that one large entry does not slow the whole read.
    const thatFit = Math.max(Math.floor(PAGE_CHARACTERS / largest), 1);
    // Small ones say little of those to come: they may double what is read at once where there were as many as asked for.
    const thatMay = page.length < limit ? limit : limit * 2;
    pace.entries = Math.min(thatFit, thatMay, PAGE_ENTRIES);
    if (page.length < limit) return;
    to = oldest.row.id;
  }
}

function showEntry(entry: AuditEntry): ShownAuditEntry {
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
