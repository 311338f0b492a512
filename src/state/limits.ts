/** Every bound of the state, each with its reason. */

/**
 * Writes that wait to be sent, those of a batch that is built ahead included; past it callers get `overloaded` instead of
 * ever longer answers.
 */
export const WAITING_WRITES_MAX = 10_000;
/** Bytes that waiting writes say they hold. */
export const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** What a waiting write counts for that does not say: its closure and its promise. */
export const WRITE_BYTES_DEFAULT = 512;
/** CPU time for which a batch is filled in one turn of the event loop: reads in between wait no longer than that. */
export const BATCH_CPU_MS = 5;
/** Operations of a batch where the engine sets no limit: keeps one commit to a few tens of milliseconds. */
export const BATCH_OPERATIONS_MAX = 5_000;
/** Bytes of a batch where the engine sets no limit. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** How often a write is run again after conflicts, and for how long, before the caller is told to try later. */
export const ATTEMPTS_MAX = 20;
export const ATTEMPTS_MS = 5_000;
/** How long a caller waits for a write: for its start (then `unavailable`) or its outcome (then `outcome-unknown`). */
export const WRITE_MS_MAX = 10_000;
/** How long a consistent read waits for the store. */
export const BARRIER_MS = 3_000;
/** Waiters that are woken in one turn of the event loop; other requests come in between. */
export const WAKE_SLICE = 128;
/** Remembered last changes; past it they are forgotten and everything counts as changed now, which is safe. */
export const LAST_CHANGES_MAX = 100_000;
/** Changes that a consumer of the feed may be behind before it is cut off. */
export const FEED_BACKLOG_MAX = 10_000;
/** Rows that are dropped, parsed or indexed in one turn of the event loop. */
export const SLICE_ROWS = 2_000;
/** Orphaned rows dropped from memory in one turn: each costs a removal from every tree. */
export const DRAIN_SLICE_ROWS = 500;
/** Removed owners looked at in one turn: as many as a batch can remove, so that they do not add up behind each other. */
export const DRAIN_SLICE_OWNERS = 5_000;
/** Keys removed from the store by one write of the removal job. */
export const REMOVAL_BATCH_KEYS = 100;
/**
 * What shared results of one snapshot may weigh together. Callers choose parts of their keys (a page, a tag), so counting
 * them bounds nothing; past it the oldest go, and are made again for who asks.
 */
export const MEMOS_BYTES_MAX = 32 * 1024 * 1024;
/** Results of more than half of that which a snapshot keeps beside the others: an answer, and what it was made of. */
export const HEAVY_MEMOS_MAX = 2;
/** What keeping a shared result costs besides what it weighs and its key. */
export const MEMO_BYTES = 200;
/** What one thing in a shared list counts for: an object of a few fields, each of which points to something of a row. */
export const MEMO_ENTRY_BYTES = 128;
/** Likewise where the list is of rows themselves. */
export const MEMO_REFERENCE_BYTES = 8;
/** Results kept while a table does not change: their keys name owners of rows, and they only point to those rows. */
export const MEMOS_OF_TABLE_MAX = 1_000;
/** How often the wall clock is compared with the monotonic one. */
export const CLOCK_CHECK_MS = 1_000;
/** The least that is a jump of the clock: NTP steps by less, and nothing here ends by the second. */
export const CLOCK_JUMP_MS = 1_000;
