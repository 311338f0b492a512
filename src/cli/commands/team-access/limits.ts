/** Every bound of the team access commands, each with its reason. */

/** Rows of a page that is asked for: the most that the API gives, so that long lists take few requests. */
export const PAGE_SIZE = 100;
/** Pages of one list that are read: a hundred million rows, and an end for a server that always names a next page. */
export const PAGES_MAX = 1_000_000;
/** How often a request is made that the rate limit refuses: others of the same user may be as eager. */
export const RATE_TRIES_MAX = 10;
/** The longest pause that a server may ask for between two of these: its windows are a second long. */
export const RATE_PAUSE_MS_MAX = 10_000;
/** As much as a server takes for one workspace, unless it is set to take more. */
export const ACCESS_FILE_BYTES_MAX = 16 * 1024 * 1024;
