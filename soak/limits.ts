/** Every bound of the soak, each with its reason. Times in milliseconds. */

/**
 * How long a write whose answer was lost may still be done: a server gives a write up after 10 s, and may have been frozen
 * or without its store for that long before it began.
 */
export const LATE_WRITE_MS = 30_000;

/** How long a client waits for an answer: longer than the server's own limits (3 s for a read, 10 s for a write). */
export const ANSWER_MS = 20_000;

/** `wait` of blocking queries. */
export const WAIT_MS = 30_000;

/**
 * From the acknowledgement of a change, how long a query that waits for it may go on: longer than any fault of a server or
 * of etcd lasts (links between the clusters have no part in it), shorter than WAIT_MS, so that an answer that came because
 * time was over is not taken for one that came because of the change.
 */
export const TOLD_MS = 25_000;

/** Between the beginning of a query that waits and the change that it waits for, at most: both orders happen. */
export const HELD_MS = 60;

/** Pause between two requests of a worker, on average: a machine of two cores is busy, not choked. */
export const PAUSE_MS = 25;

/** Pause after a request that nobody took. */
export const AWAY_MS = 100;

/** Violations that are kept to be shown; all are counted. */
export const VIOLATIONS_SHOWN_MAX = 20;

/** What was done last to a thing, kept for the report of a violation. */
export const HISTORY_MAX = 8;

/** Characters of an answer that a report quotes. */
export const QUOTED_MAX = 300;

/** Settings of the servers: short, so that faults are noticed soon, and long enough for a machine that is busy. */
export const HEARTBEAT_INTERVAL_MS = 1_000;
export const HEARTBEAT_TIMEOUT_MS = 4_000;
export const LEASE_MS = 4_000;

/**
 * From the moment at which a link carries nothing any more, how long a record may say ACTIVE: the heartbeat timeout, then
 * the lease and 2 s where the server that held the stream is gone; and what a busy machine adds.
 */
export const ACTIVE_MS = HEARTBEAT_TIMEOUT_MS + LEASE_MS + 2_000 + 6_000;

/**
 * How old the last message of an ACTIVE record may be: the heartbeat timeout where the stream is, 10 s more elsewhere, and
 * what a busy machine adds.
 */
export const LAST_RECEIVE_MS = HEARTBEAT_TIMEOUT_MS + 10_000 + 6_000;

/** After both ends have come back, how long times in records may be old: a server puts them at most every 10 s. */
export const SETTLED_MS = 20_000;

/** After a fault, how long both ends may take to be ACTIVE: the longest pause between two attempts to connect, and some. */
export const CONVERGE_MS = 90_000;

/** Once nobody writes, how long what was imported may differ from what is exported. */
export const IMPORT_MS = 45_000;

/**
 * How long a record may say something else than ACTIVE while nothing is in its way: a stream that is replaced is there again
 * after a second or two, and a busy machine adds some.
 */
export const AGREE_MS = 10_000;

/** How often both ends of the peerings are looked at. */
export const LOOK_MS = 3_000;

/** How often something that is waited for is looked at. */
export const POLL_MS = 250;

/** Before memory is measured for the first time: caches are full and code is compiled. */
export const WARM_UP_MS = 60_000;
/** Likewise in a short run: this share of it. */
export const WARM_UP_SHARE = 0.1;

/** How much more memory than after warm-up the servers of a cluster may hold together in the end. */
export const GROWTH_MAX = 0.15;
/**
 * Likewise the one server that is never killed, by itself: streams to the peers, some tens of megabytes, come to it and go
 * with every fault, so a leak must be larger than that to be told from them.
 */
export const LONG_LIFE_GROWTH_MAX = 0.4;

/**
 * How long a step of a peering that is made or deleted may take: a fault, the longest pause between two attempts to connect,
 * and another fault that comes in between.
 */
export const TRAVEL_MS = 180_000;

/** How long such a peering stays, at most. */
export const STAY_MS = 3_000;
