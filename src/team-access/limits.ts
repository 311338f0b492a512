/** Every bound of team access that is not a setting, each with its reason. */

/** A name of an organization or a team stands in paths and lists. */
export const NAME_CHARACTERS_MAX = 90;
/** What people write beside a name; it stands in lists and in the audit log. */
export const TEXT_CHARACTERS_MAX = 1_024;
/** Entries of a list among the settings that are kept as sent, such as `trigger-prefixes`. */
export const TEXTS_MAX = 100;
/** Rows of a page unless asked for, and the most that can be asked for. */
export const PAGE_SIZE_DEFAULT = 20;
export const PAGE_SIZE_MAX = 100;
/** A page that nobody can mean: past it the arithmetic would lose digits. */
export const PAGE_NUMBER_MAX = 1_000_000_000;
/** Faults told of one request: who sends more mistakes than these will not read further. */
export const FAULTS_MAX = 100;
/** A token has 90 characters; what is longer is not looked up. */
export const TOKEN_CHARACTERS_MAX = 256;
/** Over how long requests are counted for `team-access.rate-limit`. */
export const RATE_WINDOW_MS = 1_000;
/** How far `last-used-at` may be behind: each change of it is a commit. */
export const TOKEN_USE_MS = 60_000;
/** Token uses written in one commit: etcd takes 128 operations unless told otherwise. */
export const TOKEN_USES_BATCH = 50;
/** Rows whose time is over that a new one clears away first; the job behind them has left more only when it is late. */
export const EXPIRED_BATCH = 20;
