/** Limits of the demo. Times are in milliseconds. */

/** Time limit of one command. The longest waits for a stream, which takes seconds on a busy machine. */
export const COMMAND_MS_MAX = 60_000;

/**
 * Time limit of a retried step. The slowest waits for a TTL check of 2 seconds to expire, or for a server to start on a
 * busy machine.
 */
export const RETRY_MS_MAX = 60_000;

/** Interval between retries, too short for a person to notice. */
export const RETRY_INTERVAL_MS = 100;

/** Time limit for stopping a program. Nothing is in flight, so `shutdown.grace` does not apply. */
export const STOP_MS_MAX = 5_000;

/** Printed size of an output, so that two steps fit on one screen. */
export const OUTPUT_LINES_MAX = 14;
export const OUTPUT_COLUMNS_MAX = 116;

/** Largest output that is kept. */
export const OUTPUT_BYTES_MAX = 2 ** 20;
