/** Limits of the audit log that are not settings. */

/**
 * Commits in the first backward step of a read. Doubled while few entries are found, because an epoch leaves a gap of
 * 2^32.
 */
export const STEP_COMMITS = 1_000;
/**
 * Largest number of entries read from the store at once, by the audit log and by the audit trail of an organization. An
 * entry has about 1 KB. The trail reads at most the same number of rows of its list of commits.
 */
export const PAGE_ENTRIES = 500;
/** Number of entries in the first read, when their size is unknown. One entry can have 1 MB. */
export const FIRST_PAGE_ENTRIES = 16;
/** Target size of one read, if its entries are as large as the largest of the read before. */
export const PAGE_CHARACTERS = 2 * 1024 * 1024;
/** How much older than `since` an entry must be to end a read. Covers clocks that an operator or NTP sets back. */
export const SINCE_TOLERANCE_MS = 24 * 3_600_000;
/** How often the log is checked for entries past `audit.retention`. */
export const RETENTION_CHECK_MS = 60_000;
/** How long the clock must be steady before entries are removed. Leaves time for NTP or an operator to correct it. */
export const STEADY_MS_MIN = 3_600_000;
/** How long entries may be overdue before it is logged: longer than the hour that follows every start. */
export const OVERDUE_MS = 24 * 3_600_000;
