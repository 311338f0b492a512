/** Every bound of a peer stream's session, each with its reason. What a whole peering is bounded by is in `../limits.ts`. */

const MIB = 1024 * 1024;

/** Responses that are being applied side by side: they share the state's batches, and a peer cannot fill its queue. */
export const APPLYING_MAX = 16;
/**
 * Bytes of responses that were received and not applied: past it reading pauses. One message of the largest size may
 * exceed it, since a message is read before its size is known.
 */
export const UNAPPLIED_BYTES_MAX = 32 * MIB;
/** What a waiting response counts for beside its bytes: its place in the queue, its nonce, its key. */
export const UNAPPLIED_OVERHEAD_BYTES = 256;
/**
 * Answers (ACK, NACK) that the transport has not taken. Reading cannot wait for them to be sent: two sides that wait for
 * each other's reading never go on. A healthy link takes an answer of some 100 bytes at once.
 */
export const ANSWERS_WAITING_MAX = 16_384;
/**
 * Responses that the peer has not answered: past it no further content goes out until it answers. Enough to keep a link
 * busy that takes a second for the round trip.
 */
export const UNACKNOWLEDGED_MAX = 4_096;
/** Resources that wait to be sent; only ids are held. More than a cluster that is served well exports to one peer. */
export const CHANGES_WAITING_MAX = 262_144;
/**
 * Mistakes of the peer that do no harm by themselves (answers to nothing, subscriptions to what does not exist or again,
 * responses without a nonce), over the life of a stream. One or two come with another version of the protocol and must not
 * cost a working peering; more is a peer that is broken, and an end that names it is seen where a counter is not.
 */
export const PROTOCOL_ERRORS_MAX = 100;
/** Characters of a nonce that we repeat to the peer; Consul and Accord use 8. */
export const NONCE_CHARACTERS_MAX = 64;
/** Characters of a reason that is given to the peer, or taken from it. */
export const REASON_CHARACTERS_MAX = 1_024;
/**
 * Messages and map entries in one resource: a service with 4,000 instances has about as many. Decoded they are some 20 MB;
 * what fits into a message of the largest size could be thirty times that.
 */
export const RESOURCE_PARTS_MAX = 131_072;
/** What a response's envelope adds to its content: two URLs, nonce, operation and lengths, beside the id. */
export const ENVELOPE_BYTES = 512;
/** How long a session that ends waits for the transport to take its last words, and then for the other side to leave. */
export const CLOSING_MS = 5_000;
/** Between a change and the digest that has it: what a peer compares with need not be newer than people are. */
export const DIGEST_PAUSE_MS = 1_000;
/** Services of a digest for each such pause, so that however much is exported, digests are some 60 KB a second. */
export const DIGEST_SERVICES_A_PAUSE = 1_000;
/** Resources that one span of imports tells of: on a stream that never rests, a span that never ended would tell nothing. */
export const IMPORTS_IN_A_SPAN_MAX = 1_000;
/** Lines about what one peer refuses, and the while in which they are so many at most: a hostile one refuses everything. */
export const REFUSAL_LINES_MAX = 20;
export const REFUSAL_LINES_MS = 60_000;
/** Resources of one peering that are known to be refused: as many as a large cluster exports. Past it they are said again. */
export const REFUSED_KEYS_MAX = 10_000;
