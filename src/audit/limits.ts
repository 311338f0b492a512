/** Every bound of the audit log that is not a setting, each with its reason. */

/** Commits looked at in the first step back; doubled while little is found, since an epoch leaves a gap of 2^32. */
export const STEP_COMMITS = 1_000;
/** Entries read from the store at once: of a kilobyte each, and a page that is asked for has rarely more. */
export const PAGE_ENTRIES = 500;
/** Likewise while nothing is known of their size: one can be a megabyte, with all that was there before and after. */
export const FIRST_PAGE_ENTRIES = 16;
/** What a page that is read at once may come to, if none of its entries is larger than the largest of the page before. */
export const PAGE_CHARACTERS = 2 * 1024 * 1024;
/** How far behind `since` an entry ends a read: what a clock is set back by when somebody, or NTP, corrects it. */
export const SINCE_TOLERANCE_MS = 24 * 3_600_000;
/** Entries looked at, and removed, before the next are: requests that write wait behind them. */
export const RETENTION_BATCH_ENTRIES = 100;
/** An entry outlives its time by at most this; `audit.retention` is days. */
export const RETENTION_CHECK_MS = 60_000;
/** How long the clock must not have jumped before entries are taken for old: time for NTP, or for somebody who is warned. */
export const STEADY_MS_MIN = 3_600_000;
/** How long entries are kept past their time before that is told: many starts, not the hour that follows each. */
export const HELD_BACK_MS = 24 * 3_600_000;
