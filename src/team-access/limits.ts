/** The fixed limits of team access, each with its reason. Limits that operators can change are settings. */

/** Maximum characters in the name of an organization or a team, because names are part of paths and lists. */
export const NAME_CHARACTERS_MAX = 90;
/** Entries of a list setting such as `trigger-prefixes`. */
export const TEXTS_MAX = 100;
export const PAGE_SIZE_DEFAULT = 20;
export const PAGE_SIZE_MAX = 100;
/** Included resources of a document with several primary resources. At 1 to 2 KB each, the document has some MB. */
export const INCLUDED_MAX = 10_000;
/**
 * Resource identifiers in the to-many relationships of one document with several resources, at 60 bytes each. Without
 * it, a page of 100 teams with 2,000 members each would contain 400,000 identifiers.
 */
export const LINKAGE_MAX = 20_000;
/** Entries per page of an audit trail. Clients fetch 1,000 at a time, and an entry has about 1 KB. */
export const TRAIL_PAGE_SIZE_DEFAULT = 1_000;
export const TRAIL_PAGE_SIZE_MAX = 1_000;
/**
 * Entries in a read of an audit trail after a gap. The read starts small, because the next entries may
 * belong to other trails.
 */
export const TRAIL_ROWS_MIN = 16;
/** Maximum characters in a setting's JSON in the audit log. Longer values are replaced with their length and hash. */
export const AUDITED_SETTING_CHARACTERS_MAX = 2_048;
/** Highest page number. Larger numbers would lose precision in the offset arithmetic. */
export const PAGE_NUMBER_MAX = 1_000_000_000;
/** Errors in one error document. */
export const ERRORS_MAX = 100;
/** Length of the window in which `team-access.rate-limit` counts requests. */
export const RATE_WINDOW_MS = 1_000;
/**
 * Shared limit of all team tokens of an organization, as a multiple of `team-access.rate-limit`. Otherwise a caller who
 * can create teams could multiply their limit. Ten leaves room for several busy teams, and no single team can exhaust
 * it.
 */
export const RATE_SHARES_MAX = 10;
/** Shortest interval between two writes of a token's `last-used-at`, because each write is a commit. */
export const TOKEN_USE_INTERVAL_MS = 60_000;
/** Time until token uses whose write failed are written again, for example while the store is unreachable. */
export const TOKEN_USE_RETRY_MS = 10_000;
/** Members of an organization whose user was created by an invitation and has not used a token yet. */
export const INVITED_MAX = 500;
/**
 * Teams of an invitation that awaits acceptance. Accepting changes two rows for each team in one commit, and etcd accepts
 * 128 operations per transaction by default.
 */
export const INVITATION_TEAMS_MAX = 50;
/** Interval between two searches for invited users without an organization. */
export const INVITED_INTERVAL_MS = 1_000;
/**
 * Bytes of a body above which a write runs in slices, and each caller has one at a time. Smaller bodies have at most 110
 * operations, which take a few milliseconds.
 */
export const LARGE_BODY_BYTES = 16 * 1024;
/**
 * Operations of one request, or rows of one complete set. Each added or removed team member counts as one operation.
 */
export const BULK_ITEMS_MAX = 10_000;
/**
 * Time for the operations of one request, because other writes wait for them, and their cost depends on the state. On an
 * idle processor, 10,000 rows take about 0.3 s and 10,000 teams 0.5 s or more.
 */
export const OPERATIONS_MS_MAX = 5_000;
/** Expired rows that the creation of a row deletes first. More exist only when the background job is late. */
export const EXPIRED_BATCH = 20;
/**
 * Lookups with which one request compares the rows of teams with the access of the caller, one for each row and each
 * team of the caller. About 20 ms. Owners and callers with `manage-workspaces` need none.
 */
export const COMPARED_LOOKUPS_MAX = 10_000;
/** Tokens whose revocation runs in slices, and each caller has one such request at a time. */
export const REVOKED_AT_ONCE = 200;
/** Teams of a caller that a read looks up at once. Lookups of more run in slices. */
export const TEAMS_AT_ONCE = 500;
/** Names of organizations in one error message. */
export const NAMES_SHOWN_MAX = 10;
