/** The limits of the state, each with its reason. */

/** Maximum pending writes, including the writes in the next batch. Further writes fail with `overloaded`. */
export const PENDING_WRITES_MAX = 10_000;
/** Maximum bytes that pending writes hold, as estimated by their callers. */
export const PENDING_BYTES_MAX = 32 * 1024 * 1024;
/** The estimated size of a write whose caller gives no estimate: its closure and its promise. */
export const WRITE_BYTES_DEFAULT = 512;
/** CPU time for building a batch in one turn of the event loop. Reads in between wait no longer than this. */
export const BATCH_CPU_MS = 5;
/** Time for one slice of long work, such as a large request or answer. Each turn of the event loop runs one slice. */
export const SLICE_MS = 5;
/** Items that long work handles between two looks at the clock. Few, because an item can be a row of 200 KB. */
export const STEP_ITEMS = 16;
/** Long work that is under way at the same time. Each may hold an answer, so the rest has not begun. */
export const LONG_WORK_MAX = 4;
/** Maximum pending large writes, and the bytes that they hold. Each caller has one at a time. */
export const LARGE_WRITES_MAX = 100;
export const LARGE_WRITES_BYTES_MAX = 64 * 1024 * 1024;
/** Operations in a batch of several writes. Keeps one commit to a few tens of milliseconds. */
export const BATCH_OPERATIONS_MAX = 5_000;
/** Maximum bytes in a batch of several writes. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Part of the row limit and of the memory for rows that only operators and the server itself use, so that operators can
 * still act in a state that others have filled [STATE-115].
 */
export const RESERVE_SHARE = 0.02;
/** Interval at which every server looks at the room in the store. */
export const SPACE_CHECK_MS = 5_000;
/** Bytes that an operation costs a store besides its key and value; etcd counts as many against its quota. */
export const OPERATION_BYTES = 256;
/**
 * Share of the memory for rows by which writes that add no row may exceed it. The server's own changes, such as the
 * last use of a token, then never fail because clients have filled the state.
 */
export const GROWTH_RESERVE_SHARE = 1 / 32;
/** Conflicts after which a write fails with `overloaded`. */
export const ATTEMPTS_MAX = 20;
/** Time since a write was queued after which it is not retried, and a large one once it had LARGE_WRITE_ATTEMPTS_MIN attempts. */
export const ATTEMPTS_MS = 5_000;
/** Attempts that a large write always has, because one alone can take longer than ATTEMPTS_MS. */
export const LARGE_WRITE_ATTEMPTS_MIN = 3;
/** Time since a write was queued after which it fails: `unavailable` before it was sent, `outcome-unknown` after. */
export const WRITE_MS_MAX = 10_000;
/** The same time for a large write. Shorter than the time after which the command line gives up (30 s). */
export const LARGE_WRITE_MS_MAX = 20_000;
/** How long a consistent read waits for the store. */
export const BARRIER_MS = 3_000;
/**
 * Waiters that a change wakes in one turn of the event loop, so that other requests run in between. A stopping server
 * answers the same number of blocking queries in one turn.
 */
export const WAKE_SLICE_WAITERS = 128;
/** Maximum number of remembered topics. Above it, all are forgotten and count as changed now, which is safe. */
export const LAST_CHANGES_MAX = 100_000;
/** Changes that a consumer of the change feed may be behind before it is disconnected. */
export const CHANGE_FEED_BACKLOG_MAX = 10_000;
/** A row counts toward quotas once for each started part of this size, so that large rows cannot fill the memory. */
export const COUNTED_ROW_BYTES = 2 * 1024;
/** Rows decoded or indexed in one turn of the event loop. They take a few milliseconds. */
export const SLICE_ROWS = 2_000;
/** Orphaned rows dropped from memory in one turn: each is removed from every index of its table. */
export const ORPHAN_SLICE_ROWS = 500;
/** Removed owners examined in one turn: as many as one batch can remove, so that the backlog does not grow. */
export const ORPHAN_SLICE_OWNERS = 5_000;
/**
 * Rows that a removal job handles at once: orphaned rows, rows of a deleted peering, streams of a lost server, or
 * expired audit entries. Other writes wait behind the removal, so a commit must take only a few milliseconds.
 */
export const REMOVAL_BATCH_ROWS = 100;
/**
 * Rows that one write of a job or of a request changes: expired checks, services of lost servers, uses of tokens, and
 * invited users. etcd accepts 128 operations per transaction by default, and a row may need a second operation such as
 * an audit entry.
 */
export const JOB_BATCH_ROWS = 50;
/**
 * Estimated bytes of all cached values of the state. A count would bound nothing, because callers choose parts of keys.
 */
export const DERIVED_CACHE_BYTES_MAX = 64 * 1024 * 1024;
/**
 * The share of the cache that a larger value counts as. A response and the value that it was derived from therefore
 * leave a third of the budget to other values, however large they are. The cache holds at most three larger values,
 * whose actual sizes have other limits, such as ANSWER_CHARACTERS_MAX.
 */
export const DERIVED_VALUE_SHARE_MAX = 1 / 3;
/** Estimated bytes of all cached values that depend on one object, such as the JSON text of a row. */
export const FRAGMENTS_BYTES_MAX = 512 * 1024 * 1024;
/** Cost of such a value besides its text: its place in a weak map, and its object. */
export const FRAGMENT_BYTES = 96;
/** Cost of a cached value besides its content and its key. */
export const DERIVED_VALUE_BYTES = 200;
/** Estimated bytes of a list element: an object of a few fields that refer to parts of a row. */
export const LIST_ELEMENT_BYTES = 128;
/** Estimated bytes of a reference to a row, or to a part of a row. */
export const REFERENCE_BYTES = 8;
/** Interval between comparisons of the wall clock and the monotonic clock. */
export const CLOCK_CHECK_MS = 1_000;
/** The smallest clock jump. NTP slews in smaller steps, and no expiry depends on single seconds. */
export const CLOCK_JUMP_MS = 1_000;
/**
 * The part of the disk that SQLite keeps for commits that remove rows, as a divisor of the size of the disk, and its
 * maximum.
 */
export const DISK_RESERVE_SHARE = 16;
export const DISK_RESERVE_BYTES_MAX = 32 * 1024 * 1024;
/**
 * The part of the disk that ordinary callers leave to operators and to removals, as a divisor of the size of the disk,
 * and its maximum.
 */
export const CALLERS_DISK_RESERVE_SHARE = 8;
export const CALLERS_DISK_RESERVE_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Pages of the log of SQLite after which it is moved to the database: 16 MiB, and half of the reserve on a small disk.
 * Each time costs two more syncs.
 */
export const LOG_PAGES_MAX = 4_000;
