/** The limits of exporting services. */

/** Services reviewed in one event-loop turn. They take about 5 ms with a hundred subscriptions each. */
export const SERVICES_PER_TURN = 256;
/** Subscriptions refreshed in one event-loop turn. Each takes about 1 ms with 10,000 services. */
export const SUBSCRIPTIONS_PER_TURN = 4;
/** Pause before the change feed is opened again after an error. */
export const CHANGE_FEED_RETRY_MS = 1_000;
/** Minimum time between two writes of exported names. Each write contains all names, so a burst needs few writes. */
export const NAMES_WRITE_INTERVAL_MS = 200;
/** Records written in parallel. They become one commit. */
export const NAMES_WRITES_IN_PARALLEL_MAX = 64;
/** A service with so many instances always fits into one message, because an instance has at most about 80 KiB. */
export const SMALL_SERVICE_INSTANCES = 100;
