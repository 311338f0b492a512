/** Every bound of the connection check, each with its reason. */

const SECOND = 1_000;

/** How long a check takes at most, over all addresses: who asks waits for it. The dialer gives one connection as long. */
export const CHECK_MS_MAX = 10 * SECOND;
/** Checks of one server at once: each opens up to 64 connections and asks DNS as often. */
export const CHECKS_AT_ONCE_MAX = 8;
/** Clocks further apart make logs and times that do not fit together, long before certificates stop being valid. */
export const CLOCK_WARNING_MS = 60 * SECOND;
/** How much of what another server says is shown. */
export const FOREIGN_TEXT_LENGTH_MAX = 200;
