/** Version of the layout in keys.ts; a store with a higher one was written by a newer program. */
export const LAYOUT_FORMAT = 1;

/** Of a store to which nothing was committed; not 0, which a client of blocking queries reads as no index at all. */
export const FIRST_INDEX = 1;

/** Deadline of one call: longer than an election of etcd (1 s by default), shorter than what a caller waits (3 s). */
export const CALL_TIMEOUT_MS = 2_000;

/** How long a check of the head may take: more than one call, so that the call's own deadline finds a dead link. */
export const HEAD_CHECK_MS = 2 * CALL_TIMEOUT_MS;

/** Deadline of one page of a load: 16 MiB in it is a link of 13 Mbit/s. */
export const PAGE_TIMEOUT_MS = 10_000;

/** etcd closes a session that pings more often than every 5 s. */
export const PING_INTERVAL_MS = 10_000;

/** How long a ping's answer may take: as long as a call's. */
export const PING_TIMEOUT_MS = 2_000;

/** First and longest pause before a call is tried again; doubled each time. */
export const RETRY_MS_MIN = 25;
export const RETRY_MS_MAX = 1_000;

/** Flow-control window of a stream: the default of 64 KiB makes a page of 16 MiB wait for 256 round trips. */
export const STREAM_WINDOW_BYTES = 16 * 1024 * 1024;

/** Size that the pages of a load aim at: larger ones gain nothing, smaller ones cost a round trip each. */
export const PAGE_BYTES = 16 * 1024 * 1024;

/** Rows of the first page, when the size of a row is not known yet, and of any page. */
export const PAGE_ROWS_FIRST = 1_000;
export const PAGE_ROWS_MAX = 200_000;

/** Rows decoded in one turn of the event loop (about 5 ms). */
export const SLICE_ROWS = 5_000;

/** How long a commit lets older tickets of other nodes go first. */
export const TURN_WAIT_MS = 100;

/** A status row is put at most this often: etcd takes 1.5k leased puts a second, and every node receives each. */
export const STATUS_PUT_MS = 10_000;

/** Operations of a commit's success branch that are the engine's own: the head, the writer key, the ticket's removal. */
export const OWN_OPERATIONS = 3;

/** How often the compaction notes which revision belongs to which time. */
export const SAMPLE_MS = 60_000;

/** How long the writer key of a vanished node stays when nothing is compacted. */
export const WRITER_KEPT_MS = 10 * 60_000;

/** How long closing waits for etcd to take the lease back; afterwards it runs out by itself. */
export const CLOSE_TIMEOUT_MS = 1_000;

/** Transactions of an import that are under way at once. */
export const IMPORT_PARALLEL = 4;

/** Beyond one TTL, how long a taken name is waited for: etcd notices a lease's end late by its own beat. */
export const JOIN_GRACE_MS = 1_500;

/** Keys of an abandoned generation removed by one request: etcd serves nothing else meanwhile. */
export const REMOVED_AT_ONCE = 5_000n;
