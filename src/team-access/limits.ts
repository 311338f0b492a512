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
/** Resources that an answer about several brings along: at one to two kilobytes each, some megabytes at the most. */
export const INCLUDED_MAX = 10_000;
/**
 * Resources that the to-many relationships of a document of many resources name in all, at sixty bytes each: a page of a
 * hundred teams with two thousand members each would name four hundred thousand.
 */
export const LINKAGE_MAX = 20_000;
/** Likewise of an audit trail, which clients fetch a thousand at a time: an entry has about a kilobyte. */
export const TRAIL_PAGE_SIZE_DEFAULT = 1_000;
export const TRAIL_PAGE_SIZE_MAX = 1_000;
/** Rows of a trail read from the store at once; the fewest after a gap, since what follows a gap may belong to others. */
export const TRAIL_ROWS_MAX = 500;
export const TRAIL_ROWS_MIN = 16;
/** A setting with more characters of JSON is told in the audit log by its length and hash: a page of it must fit in memory. */
export const AUDITED_SETTING_CHARACTERS_MAX = 2_048;
/** A page that nobody can mean: past it the arithmetic would lose digits. */
export const PAGE_NUMBER_MAX = 1_000_000_000;
/** Faults told of one request: who sends more mistakes than these will not read further. */
export const FAULTS_MAX = 100;
/** A token has 90 characters; what is longer is not looked up. */
export const TOKEN_CHARACTERS_MAX = 256;
/** Over how long requests are counted for `team-access.rate-limit`. */
export const RATE_WINDOW_MS = 1_000;
/**
 * How many times `team-access.rate-limit` the tokens of an organization's teams may make together: who may make teams could
 * else make themself any number of allowances. Enough for several busy teams at once, and no single one uses it up.
 */
export const RATE_SHARES_MAX = 10;
/** How far `last-used-at` may be behind: each change of it is a commit. */
export const TOKEN_USE_MS = 60_000;
/** Token uses written in one commit: etcd takes 128 operations unless told otherwise. */
export const TOKEN_USES_BATCH = 50;
/**
 * Organizations there are of one maker, unless they are a site administrator: what is in each has no other bound than the
 * store's. Those that others have made them an owner of do not count: anybody could use up their allowance.
 */
export const ORGANIZATIONS_MADE_MAX = 100;
/** Members of an organization who were invited by an e-mail address that no user had, and have not come yet. */
export const INVITED_MAX = 500;
/** Users whom an invitation has made and who are in no organization any more, removed in one commit; looked for this often. */
export const INVITED_BATCH = 50;
export const INVITED_PAUSE_MS = 1_000;
/** Operations of one request, each member that is added or removed counted. */
export const OPERATIONS_MAX = 10_000;
/**
 * How long the operations of one request may be worked on: nothing else is answered meanwhile, and what each costs depends
 * on what is there. 10,000 rows take a third of a second of an idle processor, 10,000 teams half a second and more.
 */
export const OPERATIONS_MS_MAX = 5_000;
/** Rows of one complete set, for the same reason. */
export const SET_ROWS_MAX = 10_000;
/** Rows whose time is over that a new one clears away first; the job behind them has left more only when it is late. */
export const EXPIRED_BATCH = 20;
