/** Version of the head record and of the key layout. A store with a higher version was written by a newer program. */
export const LAYOUT_FORMAT = 1;

/** Version of a head record that names row formats. Versions of Accord that ignore the formats reject it [ETCD-90]. */
export const LAYOUT_FORMAT_WITH_ROW_FORMATS = 2;

/** Index of a new store. It is not 0, because a blocking query reads 0 as "no index" [STATE-12]. */
export const FIRST_INDEX = 1;

/**
 * Deadline of one call, of the answer to a ping, and of the start of a watch. It is longer than an election of etcd (1
 * s by default) and shorter than a barrier (3 s) [ETCD-3]. A watch that is behind and silent for this time is restarted
 * [ETCD-53].
 */
export const CALL_TIMEOUT_MS = 2_000;

/** Deadline of a head check. It covers two calls, so that the first one's own deadline drops a dead connection. */
export const HEAD_CHECK_TIMEOUT_MS = 2 * CALL_TIMEOUT_MS;

/** Deadline of one page of a load. A page of 16 MiB then needs a link of 13 Mbit/s. */
export const PAGE_TIMEOUT_MS = 10_000;

/** Interval of HTTP/2 pings. etcd closes a session that pings more often than every 5 s [ETCD-6]. */
export const PING_INTERVAL_MS = 10_000;

/** Shortest and longest pause before a call is repeated. Each pause is twice the one before [ETCD-4]. */
export const RETRY_PAUSE_MS_MIN = 25;
export const RETRY_PAUSE_MS_MAX = 1_000;

/** Flow-control window of a stream. The default of 64 KiB would make a page of 16 MiB wait for 256 round trips. */
export const STREAM_WINDOW_BYTES = 16 * 1024 * 1024;

/** Target size of a page during a load. Larger pages load no faster, and smaller ones cost a round trip each. */
export const PAGE_BYTES = 16 * 1024 * 1024;

/** Rows of the first page, when the size of a row is still unknown, and the most rows of any page. */
export const PAGE_ROWS_FIRST = 1_000;
export const PAGE_ROWS_MAX = 200_000;

/** Keys of other programs below the prefix that a start looks at, and how many one request reads [ETCD-84]. */
export const FOREIGN_KEYS_MAX = 10_000;
export const FOREIGN_PAGE_KEYS = 1_000n;

/** Longest time for which a commit waits for older tickets of other nodes [ETCD-40]. */
export const TICKET_WAIT_MS = 100;

/** The same time for a ticket that reserves the turn. Writes that wait for it can then still be retried [STATE-45]. */
export const RESERVED_WAIT_MS = 3_000;

/** Shortest time between two puts of a status row. etcd handles about 1,500 leased puts a second [ETCD-77]. */
export const STATUS_PUT_INTERVAL_MS = 10_000;

/** The engine's own operations in the success branch of a commit: head, writer key, removal of the ticket [ETCD-26]. */
export const ENGINE_OPERATIONS = 3;

/** Interval of housekeeping, and of the revisions that it records for the compaction. */
export const HOUSEKEEPING_INTERVAL_MS = 60_000;

/** Interval at which the node that runs housekeeping looks at the size of etcd. At 10 MiB/s, 50 MiB arrive by then. */
export const SIZE_CHECK_INTERVAL_MS = 5_000;

/** Part of the quota in use above which history is compacted before it is as old as `etcd.compact` [ETCD-88]. */
export const COMPACT_SHARE = 0.5;

/**
 * Part of the quota by which the size must have grown since the last compaction by size. If the rows alone exceed
 * COMPACT_SHARE, history is then still kept for a while.
 */
export const COMPACT_GROWTH_SHARE = 0.05;

/** History that a compaction by size keeps, for nodes that are behind. */
export const HISTORY_KEPT_MS = 10_000;

/** Part of the quota that the database file must exceed before its free pages are worth a defragmentation. */
export const DEFRAGMENT_SHARE = 0.8;

/** Parts of the quota at which ordinary callers, and operators, can only remove [STATE-119]. */
export const RESERVE_SHARE = 0.1;
export const REMOVAL_SHARE = 0.05;

/** How long the writer key of a node without a lease is kept if compaction is off [ETCD-82]. */
export const WRITER_KEY_RETENTION_MS = 10 * 60_000;

/**
 * How long the formats of a server are kept that has lost its lease without leaving, such as a suspended one. Meanwhile
 * the other servers write only formats that it reads [ETCD-89].
 */
export const ABSENT_FORMATS_RETENTION_MS = 10 * 60_000;

/** Time that closing waits for etcd to revoke the lease, which otherwise expires [ETCD-76]. */
export const CLOSE_TIMEOUT_MS = 1_000;

/** Transactions of an import that are in flight at the same time. */
export const IMPORT_TRANSACTIONS_MAX = 4;

/** Keys and values of a transaction of an import. Larger ones keep etcd from answering, and are then repeated. */
export const IMPORT_BYTES_MAX = 1024 * 1024;

/** Time beyond one TTL that a node waits for a held name, because etcd notices an expired lease late [ETCD-68]. */
export const JOIN_GRACE_MS = 1_500;

/** Keys of an abandoned generation deleted by one request. etcd serves no other request during the deletion. */
export const DELETE_BATCH_KEYS = 5_000n;
