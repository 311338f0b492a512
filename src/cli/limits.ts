/** The limits of the command-line client. */

/** Time without data after which a server counts as unreachable. */
export const RESPONSE_TIMEOUT_MS = 30_000;
/** Longest response that is read into memory. The largest lists of the API are far smaller. */
export const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;
/** Longest error text that is printed, because a proxy may answer with a whole HTML page. */
export const ERROR_TEXT_LENGTH_MAX = 2_000;
/** Largest file with a token or passphrase. Such a file holds one line; a larger file is a mistake. */
export const SECRET_FILE_BYTES_MAX = 4096;
/** Largest file with CA certificates. A bundle of all public authorities is about 250 KB. */
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024;
/** Duration of one blocking query of `--watch`, shorter than the idle timeouts of common proxies. */
export const WATCH_WAIT_SECONDS = 45;
/** Pause between two queries of `--watch`, so that a server that answers immediately is not queried in a tight loop. */
export const WATCH_PAUSE_MS = 100;
/** First and longest pause before `--watch` retries an unreachable server. */
export const WATCH_RETRY_MS = 1_000;
export const WATCH_RETRY_MS_MAX = 15_000;
/** Longest header or checksum line of an export that is examined. */
export const EXPORT_LINE_BYTES_MAX = 64 * 1024;
/** Default number of audit log entries: a few screens. */
export const AUDIT_ENTRIES_DEFAULT = 100;
/** Longest peering token that is read: more than a server accepts, line breaks included. */
export const PEERING_TOKEN_BYTES_MAX = 512 * 1024;
/** Largest request body that is read from a file: the default limit of a server. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** Default timeout of `--until`. A stream opens within a second or two, unless the first attempts fail. */
export const UNTIL_TIMEOUT_SECONDS = 30;
/** Items per page of a list: the most that the API returns, to keep the number of requests low. */
export const PAGE_SIZE = 100;
/** Tokens or peerings per page of a list of `/v1`: about 1 MB. */
export const LIST_PAGE_SIZE = 1_000;
/** Pages read of one list (100 million items), so that the client stops if a server always names a next page. */
export const PAGES_MAX = 1_000_000;
/** Attempts for a request that the rate limit rejects. Other clients of the same user may compete for the limit. */
export const RATE_LIMIT_ATTEMPTS_MAX = 10;
/** Longest `Retry-After` that is honored. The server's windows are one second long. */
export const RETRY_AFTER_MS_MAX = 10_000;
/** Largest file that `team-access apply` reads. Equal to the default of the server's `limits.bulk-body`. */
export const ACCESS_FILE_BYTES_MAX = 16 * 1024 * 1024;
