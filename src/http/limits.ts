/** The limits of the HTTP server that are not settings, each with its reason. Settings are `limits.*`. [SRV-58] */

/** Maximum bytes of a request line with its headers. Names and tokens need a few hundred; proxies add some. */
export const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Time for a TLS handshake, and time in which a client must send the headers of a request. Without these limits,
 * clients that send nothing or single bytes could hold connections for minutes.
 */
export const REQUEST_HEAD_MS_MAX = 10_000;

/** Time in which a client must send a whole request. 16 MiB in this time need a link of 2.3 Mbit/s. */
export const REQUEST_MS_MAX = 60_000;

/** Maximum time without progress of a large response, because a client that does not read holds its memory. */
export const WRITE_STALL_MS_MAX = 60_000;

/** Minimum size of a response that is watched for stalls. Smaller ones fit into the kernel's buffers. */
export const WRITE_STALL_BYTES_MIN = 64 * 1024;

/** Interval of the header and request timeout checks. A slow connection may live this much longer than its limit. */
export const CONNECTION_CHECK_MS = 2_000;

/** Keep-alive timeout of idle connections. Longer than the 60 s of common load balancers, which close first. */
export const KEEP_ALIVE_MS = 75_000;

/** Idle time before the kernel sends TCP keep-alive probes, because clients of blocking queries can vanish silently. */
export const TCP_KEEP_ALIVE_MS = 30_000;

/** Connections in the kernel's accept queue. All clients of a cluster may reconnect at once. */
export const LISTEN_BACKLOG = 4_096;

/** Interval at which a stopping server closes connections that became idle. */
export const STOP_CHECK_MS = 20;

/** Interval at which the certificate files are read. [SRV-57] */
export const CERTIFICATE_CHECK_MS = 30_000;

/** Maximum characters in a request ID that is accepted from a client or proxy. Trace IDs have 32, UUIDs 36. */
export const REQUEST_ID_LENGTH_MAX = 64;

/**
 * Largest body of a request without a valid token. Such a request fails, but the endpoint reports errors of a body that
 * is invalid first, and ordinary bodies are smaller.
 */
export const UNAUTHENTICATED_BODY_BYTES_MAX = 16 * 1024;

/** Shares of `limits.bodies` for one address, for one caller, and for operators only. */
export const BODIES_ADDRESS_SHARE = 1 / 2;
export const BODIES_CALLER_SHARE = 1 / 4;
export const BODIES_RESERVE_SHARE = 1 / 8;

/** `Retry-After` of a body that the budget refuses. Requests in progress end within seconds. */
export const BODIES_RETRY_SECONDS = 1;

/**
 * Requests that a connection may send ahead of its responses. Hardly any client pipelines, and each request costs memory
 * while it waits for its turn.
 */
export const PIPELINED_REQUESTS_MAX = 32;

/** Share of `limits.connections-per-address` that may be in TLS handshakes, which cost more than idle connections. */
export const HANDSHAKES_SHARE = 1 / 4;

/** Nesting depth of a JSON body. Every schema needs far less. */
export const BODY_DEPTH_MAX = 32;

/** Fields of one object in a JSON body. The largest maps have 100, and each key of an object costs memory and time. */
export const BODY_FIELDS_MAX = 1_000;

/** Values in a JSON body, except bulk bodies. 17,000 resource identifiers in 1 MiB have 52,000. Checks take 0.3 µs each. */
export const BODY_VALUES_MAX = 100_000;

/** Values in a bulk body. 10,000 operations of 50 values have half as many. */
export const BULK_VALUES_MAX = 1_000_000;

/** Bytes of one text in a bulk body, which is parsed at once. No attribute may be nearly as long. */
export const BULK_STRING_BYTES_MAX = 1024 * 1024;

/** Bytes of a JSON body that are parsed at once, in about 1 ms. */
export const JSON_PIECE_BYTES = 32 * 1024;

/** Maximum characters in an invalid value that an error message quotes. */
export const QUOTED_LENGTH_MAX = 64;

/** The default and the maximum of `wait`, and the share of `wait` that is added at most as jitter. */
export const WAIT_MS_DEFAULT = 5 * 60_000;
export const WAIT_MS_MAX = 10 * 60_000;
export const WAIT_JITTER_SHARE = 1 / 16;

/**
 * Share of `limits.waiting` that only queries of operators may use, so that those who look for the cause of a flood are
 * not locked out by it.
 */
export const WAITING_RESERVE_SHARE = 0.1;

/** `Retry-After` of a query that may not wait. Waiting queries end within minutes, and often within seconds. */
export const WAITING_RETRY_SECONDS = 1;

/** Maximum characters in a response body: about 100,000 items of usual size. Clients request longer lists in pages. */
export const ANSWER_CHARACTERS_MAX = 64 * 1024 * 1024;

/**
 * Maximum bytes of different bodies that clients have not received yet. Clients that read slowly hold the bodies.
 */
export const UNSENT_BYTES_MAX = 256 * 1024 * 1024;

/** Size of the pieces in which a larger body is sent. Only one piece per connection is outside V8's heap. */
export const PIECE_BYTES = 64 * 1024;

/** Maximum characters in a body that `pretty` indents, because the parsed value takes ten times the text's memory. */
export const PRETTY_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Minimum size of a response that is compressed. A smaller one fits into one packet. */
export const GZIP_BYTES_MIN = 1_400;

/** Maximum size of a response that is compressed synchronously, in about 1 ms. Larger ones use the thread pool. */
export const GZIP_BYTES_INLINE_MAX = 64 * 1024;

/**
 * Concurrent compressions in the thread pool, each with 256 KiB for zlib. Past the limit, responses are not compressed.
 */
export const GZIP_PARALLEL_MAX = 8;

/**
 * Time without an answer after which the store counts as lost: ping interval (10 s) plus ping deadline (2 s). [SRV-66]
 */
export const STORE_SILENCE_MS = 12_000;

/** Maximum bytes of log lines that are kept while they cannot be written. Further lines are dropped. [SRV-77] */
export const LOG_BACKLOG_BYTES_MAX = 1024 * 1024;
