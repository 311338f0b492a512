/** Every bound of the command line's client, each with its reason. */

/** Silence on a connection after which the server counts as not reachable. */
export const ANSWER_MS_MAX = 30_000;
/** Longest answer that is read into memory: the largest lists of the API stay far below it. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** How much of a refusal is shown: a proxy's error page is cut. */
export const REFUSAL_LENGTH_MAX = 2_000;
/** Files with tokens and passphrases are a line; what is larger is some other file. */
export const SECRET_FILE_BYTES_MAX = 4096;
/** A bundle of every public authority has about 250 KB. */
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024;
/** How long one blocking query of `--watch` waits: shorter than the idle time-outs of common proxies. */
export const WATCH_WAIT_SECONDS = 45;
/** Pause between two queries of `--watch`: a server that answers at once again and again is not driven hot. */
export const WATCH_PAUSE_MS = 100;
/** First and longest pause before `--watch` tries a server again that could not be reached. */
export const WATCH_RETRY_MS = 1_000;
export const WATCH_RETRY_MS_MAX = 15_000;
/** The last line of an export is its checksum, some dozens of bytes; the header names what is left out. */
export const EXPORT_LINE_BYTES_MAX = 64 * 1024;
/** Entries of the audit log that are shown unless told otherwise: a few screens. */
export const AUDIT_ENTRIES_DEFAULT = 100;
/** More than the longest peering token that a server takes, line breaks included. */
export const PEERING_TOKEN_BYTES_MAX = 512 * 1024;
/** What a server takes in one body, unless it is set to take more. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** How long `--until` waits unless told: a stream opens in a second or two, and a try that failed is repeated. */
export const UNTIL_SECONDS = 30;
