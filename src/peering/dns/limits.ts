/** Every bound of discovery over DNS, each with its reason. Anybody who can reach the listener can ask. */

/** Bytes of a question over TCP: a name of 255, EDNS and its options take a few hundred. UDP brings whatever it brings. */
export const QUERY_BYTES_MAX = 4_096;
/** Records after the question: EDNS, and a signature that nobody looks at. */
export const ADDITIONALS_MAX = 2;
/** Bytes of an answer over UDP to who says nothing of sizes (RFC 1035). */
export const UDP_ANSWER_BYTES_MIN = 512;
/**
 * Bytes of an answer over UDP to who takes more: fits every path without fragments, and is all that somebody can have
 * sent to another's address with one forged question.
 */
export const UDP_ANSWER_BYTES_MAX = 1_232;
/** Bytes of an answer over TCP: its length has two bytes. */
export const TCP_ANSWER_BYTES_MAX = 65_535;
/** Answers that the system has not taken from a UDP socket; past it questions are dropped, and asked again. */
export const UDP_UNSENT_BYTES_MAX = 4 * 1024 * 1024;
/** Connections at a time; one more makes the one go that was quiet the longest. */
export const TCP_CONNECTIONS_MAX = 256;
/** How long a connection may go without a whole question: long enough to send the next one over it (RFC 7766). */
export const TCP_IDLE_MS = 10_000;
/** Questions of one connection that are answered before everybody else gets a turn. */
export const TCP_QUESTIONS_A_TURN = 32;
/** How long connections have at a stop to take the answers that were given. */
export const TCP_CLOSING_MS = 1_000;
/** Tries to find one port that is free for both UDP and TCP, when any will do. */
export const PORT_TRIES_MAX = 10;
/** There is one line of log for each kind of trouble in this time, however often it comes. */
export const LOG_LINE_MS = 10_000;
