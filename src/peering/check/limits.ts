/** The limits of the connection check. */

const SECOND = 1_000;

/** Timeout of a check, all addresses together. The dialer uses the same timeout for one connection. */
export const CHECK_MS_MAX = 10 * SECOND;
/** Checks in parallel on one server. Each opens up to 64 connections and makes as many DNS queries. */
export const CHECKS_IN_PARALLEL_MAX = 8;
/** Clocks that differ more make logs hard to compare, long before certificates become invalid. */
export const CLOCK_WARNING_MS = 60 * SECOND;
/** Maximum characters in a text from another server that a report contains. */
export const FOREIGN_TEXT_LENGTH_MAX = 200;
