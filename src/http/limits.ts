/** Every bound of the HTTP edge that is not a setting, each with its reason. Settings: `limits.*` in the configuration. */

/** Bytes of a request line with its headers: names and tokens need a few hundred, proxies add some; past it 431. */
export const HEADER_BYTES_MAX = 16 * 1024;

/** How long a client may take to send its headers; one that sends them byte by byte holds a connection no longer. */
export const HEADERS_MS_MAX = 10_000;

/** How long a client may take to send a whole request: 16 MiB in it is a link of 2.3 Mbit/s. */
export const REQUEST_MS_MAX = 60_000;

/** How long a large answer may make no progress: a client that does not read would hold its memory for ever. */
export const UNREAD_MS_MAX = 60_000;

/** Bytes from which that is watched; smaller answers fit into the kernel's buffers. */
export const UNREAD_BYTES_MIN = 64 * 1024;

/** How often connections are looked at for headers and requests; so much longer they last. */
export const CONNECTION_CHECK_MS = 2_000;

/** How long an idle connection stays: longer than the 60 s of the usual load balancers, so that they close first. */
export const KEEP_ALIVE_MS = 75_000;

/** Idle time after which the kernel asks whether the peer of a connection lives: waiting clients vanish silently. */
export const TCP_KEEP_ALIVE_MS = 30_000;

/** How long a TLS handshake may take; Node's own two minutes would let idlers hold connections. */
export const TLS_HANDSHAKE_MS_MAX = 10_000;

/** Connections that the kernel keeps while they wait to be accepted: a cluster's clients come back all at once. */
export const LISTEN_BACKLOG = 4_096;

/** While stopping, how often connections that became idle are closed. */
export const STOP_CHECK_MS = 20;

/** How often certificate files are looked at. */
export const CERTIFICATE_CHECK_MS = 30_000;

/** Length of a request id that is taken from a client or a proxy; trace ids have 32, UUIDs 36. */
export const REQUEST_ID_LENGTH_MAX = 64;

/** Objects and arrays inside one another in a body; no schema comes near. */
export const BODY_DEPTH_MAX = 32;

/** What a caller is shown of its own faulty value. */
export const QUOTED_LENGTH_MAX = 64;

/** `wait` when none is given, its upper bound, and the share of it that is added at random so that clients spread. */
export const WAIT_MS_DEFAULT = 5 * 60_000;
export const WAIT_MS_MAX = 10 * 60_000;
export const WAIT_JITTER_SHARE = 1 / 16;

/** Waiting queries that are answered in one turn of the event loop while stopping; as the state does when it wakes. */
export const ANSWER_SLICE = 128;

/** How long a list may be that is answered at once: 100,000 things of usual size; what is longer is asked for in parts. */
export const ANSWER_CHARACTERS_MAX = 64 * 1024 * 1024;

/** Likewise before it is indented: that takes its value, ten times the memory of its text, and is for people. */
export const PRETTY_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Bytes from which an answer is compressed: a smaller one fits into one packet anyhow. */
export const GZIP_BYTES_MIN = 1_400;

/** Bytes up to which an answer is compressed on the spot (about 1 ms); larger ones go to the thread pool. */
export const GZIP_BYTES_INLINE_MAX = 64 * 1024;

/** Answers that are compressed at once in the thread pool, each with 256 KiB of zlib; past it they go out plain. */
export const GZIP_PARALLEL_MAX = 8;

/** Silence of the store after which it counts as lost: its ping interval (10 s) and the ping's deadline (2 s). */
export const STORE_SILENCE_MS = 12_000;

/** Bytes of log lines kept while they cannot be written; what comes then is lost. */
export const LOG_BACKLOG_BYTES_MAX = 1024 * 1024;
