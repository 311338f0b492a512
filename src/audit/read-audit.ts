/** Reads the audit log from the store, newest first. */
import { type Static, Type } from 'typebox';
import type { State } from '../state/state.ts';
import type { Stored } from '../state/table.ts';
import { PAGE_ENTRIES, STEP_COMMITS } from './limits.ts';
import { type AuditEntry, auditKeyAt, auditLog, indexOfAuditKey } from './record.ts';

export interface AuditQuery {
  /** Only entries from this time on, milliseconds since 1970. */
  readonly sinceMs: number;
  /** Only entries before this one; undefined: from the newest on. */
  readonly before: string | undefined;
  readonly limit: number;
  /** How many entries may be read to find them. */
  readonly scannedMax: number;
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
  const { before, sinceMs, limit, scannedMax, wanted, visible } = query;
  const entries: ShownAuditEntry[] = [];
  let filtered = false;
  let scanned = 0;
  let oldest: string | undefined;
  for await (const { row } of newestFirst(state, before, signal)) {
    if (Date.parse(row.time) < sinceMs) return { entries, filtered, next: undefined };
    if (entries.length === limit || scanned === scannedMax) return { entries, filtered, next: oldest };
    scanned += 1;
    oldest = row.id;
    if (!wanted(row)) continue;
    if (visible(row)) entries.push(showEntry(row));
    else filtered = true;
  }
  return { entries, filtered, next: undefined };
}

/** The entries before one, or all, in spans of commits that are small enough for the store not to have to sort much. */
async function* newestFirst(
  state: State,
  before: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Stored<AuditEntry>> {
  const newest = auditKeyAt(state.snapshot.index + 1);
  let end = before === undefined || before > newest ? newest : before;
  for (let step = STEP_COMMITS, start = indexOfAuditKey(end); start > 0; ) {
    start = Math.max(0, start - step);
    let found = 0;
    for await (const entry of inSpan(state, auditKeyAt(start), end, signal)) {
      found += 1;
      yield entry;
    }
    end = auditKeyAt(start);
    step = found < PAGE_ENTRIES ? step * 2 : STEP_COMMITS;
  }
}

async function* inSpan(
  state: State,
  from: string,
  end: string,
  signal: AbortSignal,
): AsyncGenerator<Stored<AuditEntry>> {
  for (let to = end; ; ) {
    const page = await state.scan(auditLog, { from, to, limit: PAGE_ENTRIES, reverse: true }, signal);
    yield* page as Stored<AuditEntry>[];
    const oldest = page.at(-1);
    if (oldest === undefined || page.length < PAGE_ENTRIES) return;
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
