/** The limits of one peer stream, each with its reason. `../limits.ts` holds the limits of a peering. */

const MIB = 1024 * 1024;

/** Responses that are applied in parallel. They share the state's batches, and a peer must not fill the write queue. */
export const PARALLEL_APPLIES_MAX = 16;
/**
 * Maximum bytes of received responses that are not applied yet. Reading pauses above this limit. One message can exceed
 * the limit by up to its own size, because a message is read before its size is known.
 */
export const UNAPPLIED_BYTES_MAX = 32 * MIB;
/** The estimated overhead of a pending response besides its content: its queue entry, nonce, and key. */
export const UNAPPLIED_OVERHEAD_BYTES = 256;
/**
 * ACKs and NACKs that the transport has not accepted. Reading does not pause for them, because two sides that wait for
 * each other to read would deadlock. A healthy link accepts an ACK of some 100 bytes at once.
 */
export const PENDING_ACKS_MAX = 16_384;
/** Maximum characters in the URLs and reasons of those NACKs, which repeat what the peer sent. */
export const PENDING_ACK_BYTES_MAX = 4 * MIB;
/** Maximum number of unacknowledged responses. Enough to keep a link with a round-trip time of one second busy. */
export const UNACKNOWLEDGED_MAX = 4_096;
/** Maximum number of IDs of changed resources in the send queue. A healthy cluster exports fewer to one peer. */
export const PENDING_CHANGES_MAX = 262_144;
/**
 * Maximum number of harmless protocol errors of the peer during one stream: acknowledgments of unknown nonces,
 * subscriptions to unknown kinds, repeated subscriptions, and responses without a nonce. A peer with another version of
 * the protocol may cause one or two of them, which must not break the peering. A peer that exceeds the limit is faulty,
 * and ending the stream makes the fault visible.
 */
export const PROTOCOL_ERRORS_MAX = 100;
/** Maximum characters in a nonce that is sent back to the peer. Consul and Accord use 8. */
export const NONCE_CHARACTERS_MAX = 64;
/** Maximum characters in a reason that is sent to the peer or received from it. */
export const REASON_CHARACTERS_MAX = 1_024;
/**
 * Messages and map entries in one resource. A service with 4,000 instances contains about this number, which takes some
 * 20 MB when decoded. A message of the maximum size could contain thirty times this number.
 */
export const RESOURCE_PARTS_MAX = 131_072;
/**
 * Tags, checks, tagged addresses, and pairs of metadata, each, of one instance of a peer. Four times what the catalog of
 * this cluster accepts, because Consul has no such limits.
 */
export const INSTANCE_ENTRIES_MAX = 256;
/** Maximum characters in a tag, a value, or a check's output of a peer: as much output as this cluster stores. */
export const INSTANCE_TEXT_CHARACTERS_MAX = 4_096;
/** Maximum characters in the ID of an instance, a node, or a check of a peer. */
export const INSTANCE_ID_CHARACTERS_MAX = 512;
/** Maximum characters in a key of an instance's metadata or tagged addresses. */
export const INSTANCE_KEY_CHARACTERS_MAX = 512;
/** Bytes of a hash in the digest of a peer. SHA-256 has 32. */
export const DIGEST_HASH_BYTES_MAX = 64;
/**
 * How often a trust bundle is tried whose roots the first peering with its cluster does not have yet, BACKOFF_MS_MIN
 * apart. During a rotation both bundles are sent at the same time.
 */
export const FOREIGN_ROOTS_ATTEMPTS = 4;
/** Names in a list up to which a service that is found for the first time changes the record in its own commit. */
export const FOUND_AT_ONCE_MAX = 256;
/** How long the record of a longer list may omit a service that is found, because it is rewritten as a whole. */
export const FOUND_DELAY_MS = 1_000;
/** How long an ending session waits for the transport to write its last messages, and then for the peer to close. */
export const CLOSING_MS = 5_000;
/** How long a digest may lag behind the newest change. It is for people who compare clusters, not for replication. */
export const DIGEST_INTERVAL_MS = 1_000;
/** Services in a digest for each DIGEST_INTERVAL_MS, so that digests use at most some 60 KB/s. */
export const DIGEST_SERVICES_PER_INTERVAL = 1_000;
/** Resources in one import span. On a stream that is never idle, the span would otherwise never be exported. */
export const IMPORTS_PER_SPAN_MAX = 1_000;
/** Log lines about refused resources of one peering in REFUSAL_LOG_INTERVAL_MS. A hostile peer refuses everything. */
export const REFUSAL_LOG_LINES_MAX = 20;
export const REFUSAL_LOG_INTERVAL_MS = 60_000;
/** Refused resources of one peering that are remembered as logged. As many as a large cluster exports. */
export const LOGGED_REFUSALS_MAX = 10_000;
