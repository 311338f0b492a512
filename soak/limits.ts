/** The limits of the soak with their reasons. */

/**
 * The longest time for which a write with a lost response may still take effect: a server gives up a write after 10 s,
 * and may have been frozen or without its store for about that long before it began.
 */
export const LATE_WRITE_MS = 30_000;

/** Longer than the server's own limits: 3 s for a read, 10 s for a write. */
export const REQUEST_TIMEOUT_MS = 20_000;

/** `wait` of blocking queries. */
export const WAIT_MS = 30_000;

/**
 * The longest time from an acknowledged change to the answer of a blocking query. It exceeds the longest fault of a
 * server or of etcd; the links between the clusters play no part in it. It is below WAIT_MS, so that an answer due to
 * the elapsed wait is not mistaken for an answer due to the change.
 */
export const NOTIFY_MS = 25_000;

/** The longest delay between a blocking query and the change it waits for. Short, so that either may arrive first. */
export const CHANGE_DELAY_MS_MAX = 60;

/** The average pause between two requests of a worker. It keeps two cores busy without overloading them. */
export const REQUEST_PAUSE_MS = 25;

/** The pause after a request with the outcome `unavailable` or `unknown`. */
export const RETRY_PAUSE_MS = 100;

/** Violations that are printed. The rest are counted. */
export const VIOLATIONS_PRINTED_MAX = 20;

/** Lines of history per resource. */
export const HISTORY_MAX = 8;

/** Characters of a response that a violation quotes. */
export const QUOTED_CHARACTERS_MAX = 300;

/** Peering and lease settings of the servers: short, so that faults are detected soon, but safe on a busy machine. */
export const HEARTBEAT_INTERVAL_MS = 1_000;
export const HEARTBEAT_TIMEOUT_MS = 4_000;
export const LEASE_MS = 4_000;

/**
 * The longest time for which a record may stay ACTIVE after traffic has stopped: the heartbeat timeout, the lease plus
 * 2 s if the server with the stream is down, and 6 s for a busy machine.
 */
export const ACTIVE_MS = HEARTBEAT_TIMEOUT_MS + LEASE_MS + 2_000 + 6_000;

/**
 * The maximum age of `LastReceive` in an ACTIVE record: the heartbeat timeout, 10 s because other servers learn it that
 * late, and 6 s for a busy machine.
 */
export const LAST_RECEIVE_MS = HEARTBEAT_TIMEOUT_MS + 10_000 + 6_000;

/** The time after a recovery before `LastReceive` is checked. A server writes it at most every 10 s. */
export const SETTLED_MS = 20_000;

/**
 * The longest time from the end of a fault until both sides are ACTIVE: the longest backoff of the dialing side, and
 * more.
 */
export const CONVERGE_MS = 90_000;

/** The longest time for which imported and exported services may differ while no worker writes. */
export const IMPORT_MS = 45_000;

/** The longest time for which a record may be other than ACTIVE without a fault: a replaced stream takes 1 to 2 s. */
export const AGREE_MS = 10_000;

/** The interval of the checks of both sides of the peerings. */
export const CHECK_INTERVAL_MS = 3_000;

/** The interval of polls for a condition. */
export const POLL_MS = 250;

/** The time before the first memory measurement, in which caches fill and code is compiled. */
export const WARM_UP_MS = 60_000;
/** The warm-up of a short run as a share of its length. */
export const WARM_UP_SHARE = 0.1;

/** The maximum growth of the memory of a cluster's servers together, from warm-up to the end. */
export const GROWTH_MAX = 0.15;
/**
 * The maximum growth of the server that is never killed. It is larger, because peer streams with some tens of megabytes
 * move between the servers of a cluster with every fault. Only a larger leak is visible.
 */
export const LONG_LIFE_GROWTH_MAX = 0.4;

/** The longest time for one step of a peering lifecycle: a fault, the longest backoff, and another fault in between. */
export const LIFECYCLE_STEP_MS = 180_000;

/** The longest time for which a peering of a lifecycle stays ACTIVE. */
export const LIFECYCLE_ACTIVE_MS_MAX = 3_000;
