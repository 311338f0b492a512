/** Reads the audit log from the store, newest first. */
import type { State } from '../state/state.ts';
import type { Stored } from '../state/table.ts';
import { type AuditEntry, auditKeyAt, auditLog } from './record.ts';

export interface AuditQuery {
  /** Only entries from this time on, milliseconds since 1970. */
  readonly sinceMs: number;
  readonly limit: number;
  /** Which entries are asked for. */
  readonly wanted: (entry: AuditEntry) => boolean;
  /** Which of them the caller may read. */
  readonly visible: (entry: AuditEntry) => boolean;
}

/** An entry as the API shows it. */
export interface ShownAuditEntry {
  readonly Time: string;
  readonly Actor: string;
  readonly Address: string;
  readonly RequestID: string;
  readonly Action: string;
  readonly Type: string;
  readonly Subject: string;
  readonly Partition: string;
  readonly Before: unknown;
  readonly After: unknown;
}

export interface AuditPage {
  readonly entries: readonly ShownAuditEntry[];
  /** Entries were left out that the caller may not read. */
  readonly filtered: boolean;
}

/** Commits looked at in the first step back; doubled while nothing is found, since an epoch leaves a gap of 2^32. */
const STEP_COMMITS = 1_000;
/** Entries read from the store at once. */
const PAGE_ENTRIES = 500;

/** The newest entries. @throws StateError `unavailable` */
export async function readAudit(state: State, query: AuditQuery, signal: AbortSignal): Promise<AuditPage> {
  const entries: ShownAuditEntry[] = [];
  let filtered = false;
  let end = state.snapshot.index + 1;
  for (let step = STEP_COMMITS; end > 0; ) {
    const start = Math.max(0, end - step);
    let found = 0;
    for await (const { row } of newestFirst(state, start, end, signal)) {
      found++;
      if (Date.parse(row.time) < query.sinceMs || entries.length === query.limit) return { entries, filtered };
      if (!query.wanted(row)) continue;
      if (query.visible(row)) entries.push(showEntry(row));
      else filtered = true;
    }
    end = start;
    step = found === 0 ? step * 2 : STEP_COMMITS;
  }
  return { entries, filtered };
}

/** The entries of a span of commits: small enough that the store need not sort much. */
async function* newestFirst(
  state: State,
  start: number,
  end: number,
  signal: AbortSignal,
): AsyncGenerator<Stored<AuditEntry>> {
  const from = auditKeyAt(start);
  let to = auditKeyAt(end);
  for (;;) {
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
