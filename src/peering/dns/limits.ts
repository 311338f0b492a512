/** The limits of the DNS listener. Its clients are not authenticated. */

/** Maximum bytes of a question over TCP. A name has up to 255, and EDNS with its options a few hundred. */
export const QUERY_BYTES_MAX = 4_096;
/** Additional records of a question: EDNS, and a signature, which is ignored. */
export const ADDITIONALS_MAX = 2;
/** Bytes of a response over UDP to a client without EDNS (RFC 1035). */
export const UDP_ANSWER_BYTES_MIN = 512;
/** Bytes of a UDP response with EDNS. Fits one packet on common paths, and bounds amplification by forged questions. */
export const UDP_ANSWER_BYTES_MAX = 1_232;
/** Maximum bytes of a response over TCP, whose length prefix has two bytes. */
export const TCP_ANSWER_BYTES_MAX = 65_535;
/** Maximum bytes of responses queued in a UDP socket. Beyond it questions are dropped, and clients retry. */
export const UDP_UNSENT_BYTES_MAX = 4 * 1024 * 1024;
/** Open TCP connections. A further one closes the connection that was idle the longest. */
export const TCP_CONNECTIONS_MAX = 256;
/** Open TCP connections of one address. A further one closes the one of the address that was idle the longest. */
export const TCP_CONNECTIONS_PER_ADDRESS_MAX = 64;
/**
 * UDP responses of up to this many times the size of their question are always sent, because forging the sender of the
 * question gains little.
 */
export const UDP_AMPLIFICATION_MAX = 2;
/**
 * Bytes per second, and bytes at once, of larger UDP responses to one address. Past them a response is truncated to its
 * question, and the client repeats it over TCP, which proves its address. 256 KiB are about 1,300 ordinary responses.
 */
export const UDP_AMPLIFIED_BYTES_PER_SECOND = 256 * 1024;
export const UDP_AMPLIFIED_BYTES_BURST = 1024 * 1024;
/** Questions that wait for a slice of the event loop. Further ones are dropped, and clients retry. */
export const SLOW_QUESTIONS_MAX = 1_000;
/** How long a connection may remain without a complete question (RFC 7766). */
export const TCP_IDLE_MS = 10_000;
/** Questions of one connection that are answered before the event loop gets a turn. */
export const TCP_QUESTIONS_PER_TURN = 32;
/** How long clients have to receive pending responses when the listener stops. */
export const TCP_CLOSE_TIMEOUT_MS = 1_000;
/** Attempts to find a port that is free for both UDP and TCP, with port 0. */
export const PORT_TRIES_MAX = 10;
/** Each kind of warning is logged at most once in this time. */
export const LOG_INTERVAL_MS = 10_000;
