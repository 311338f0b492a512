/** Every bound of the audit log that is not a setting, each with its reason. */

/** Commits looked at in the first step back; doubled while little is found, since an epoch leaves a gap of 2^32. */
export const STEP_COMMITS = 1_000;
/** Entries read from the store at once: of a kilobyte each, and a page that is asked for has rarely more. */
export const PAGE_ENTRIES = 500;
/** Likewise while nothing is known of their size: one can be a megabyte, with all that was there before and after. */
export const FIRST_PAGE_ENTRIES = 16;
/** What a page that is read at once may come to, going by the size of those before it. */
export const PAGE_CHARACTERS = 2 * 1024 * 1024;
/** Entries looked at, and removed, before the next are: requests that write wait behind them. */
export const RETENTION_BATCH_ENTRIES = 100;
/** An entry outlives its time by at most this; `audit.retention` is days. */
export const RETENTION_CHECK_MS = 60_000;
/** How long the clock must not have jumped before entries are taken for old: time for NTP, or for somebody who is warned. */
export const STEADY_MS_MIN = 3_600_000;
