/** The limits of the peering service. */

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

/** Minimum time for which a deleted peering remains readable, so that its caller can observe the deletion. */
export const READABLE_AFTER_DELETION_MS = 5 * SECOND;
/** How long a call that needs a name waits until the deleted peering of that name is removed. */
export const REMOVAL_WAIT_MS_MAX = 10 * SECOND;
/** Interval at which the background jobs look for deleted peerings, and for peerings whose stream's server is lost. */
export const JOB_POLL_MS = SECOND / 4;
/** Stream secrets that a starting server encrypts in parallel. They fit into a few commits. */
export const ENCRYPTIONS_IN_PARALLEL_MAX = 100;
/** How long the other side of a deleted peering can be disconnected and still learn of the deletion. */
export const TOMBSTONE_TTL_MS = 30 * DAY;
/** How long a name stays reserved after an establish that was interrupted. */
export const RESERVATION_TTL_MS = 30 * SECOND;
/** How long an establish tries to reach the other cluster, all addresses together. */
export const EXCHANGE_TIMEOUT_MS = 3 * SECOND;
/** Addresses of one cluster. They are tried one after another, so their number must be small. */
export const ADDRESSES_MAX = 64;
export const META_PAIRS_MAX = 64;
export const META_KEY_CHARACTERS_MAX = 128;
export const META_VALUE_BYTES_MAX = 512;
/** Maximum characters in a secret received from another cluster. UUIDs have 36. */
export const SECRET_CHARACTERS_MAX = 128;
/**
 * Maximum characters in a service name, in the address of a node or service, and in a partition or datacenter name
 * received from another cluster: the length of a DNS name.
 */
export const DNS_NAME_CHARACTERS_MAX = 253;
/** Maximum characters in a peering token. 64 addresses and a certificate chain need much less. */
export const TOKEN_CHARACTERS_MAX = 256 * 1024;

/** Maximum backoff between two attempts to open a stream. */
export const BACKOFF_MS_MAX = 64 * SECOND;
/**
 * First backoff. Each further backoff is twice as long, with jitter. After a burst, the accepting side admits one
 * stream in this time. Failed writes of a stream's state or of imported data are retried after it.
 */
export const BACKOFF_MS_MIN = SECOND / 2;
/** A stream that ends before this time counts as a failed attempt, because each stream costs a commit at both ends. */
export const STREAM_STABLE_MS = 5 * SECOND;
/** Consecutive short streams do not raise the failure count above this value. The backoff then is at most 4 seconds. */
export const SHORT_STREAMS_MAX = 3;
/** Maximum bytes of a message of the stream or of the secret exchange. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;
/** The estimated overhead of a response besides its content and ID: two URLs, nonce, operation, and lengths. */
export const ENVELOPE_BYTES = 512;
/** Services imported from one peer. The record contains their names and is rewritten at every change of state. */
export const IMPORTED_SERVICES_MAX = 32_768;
/** Total characters in the names of a peer's imported services, whose record must fit into one etcd transaction. */
export const IMPORTED_NAMES_CHARACTERS_MAX = 512 * 1024;
/** Instances imported from one peer. Without this limit, instances of a few bytes each could exhaust memory. */
export const IMPORTED_INSTANCES_MAX = 131_072;
/**
 * Total bytes of one peer's imported instances in the store: 1 KiB for each. Sixteen such peers fit into the default
 * quota of etcd, and one of them needs a few hundred megabytes of memory.
 */
export const IMPORTED_BYTES_MAX = 128 * 1024 * 1024;
/**
 * Bytes per second that one peer can make this server write: rows as JSON and IMPORT_WRITE_BYTES for each. Sixteen
 * peers together then need two minutes to write what etcd stores by default, which is time to compact.
 */
export const IMPORT_BYTES_PER_SECOND = 1024 * 1024;
/** Bytes that a peer can make this server write at once: half of its imports, so that most peers never wait. */
export const IMPORT_BYTES_BURST = IMPORTED_BYTES_MAX / 2;
/** The estimated bytes of a write besides its row: keys, index entries, and the entry of the commit. */
export const IMPORT_WRITE_BYTES = 512;
/** Import problems recorded for one peer, so that a faulty peer cannot fill the state. */
export const IMPORT_PROBLEMS_MAX = 1_000;
/** Maximum bytes that a client may send before it authenticates. An `Open` or a secret exchange needs a few hundred. */
export const UNAUTHENTICATED_BYTES_MAX = 16 * 1024;
/** Unauthenticated connections. All peers of a large cluster may reconnect at the same time. */
export const UNAUTHENTICATED_CONNECTIONS_MAX = 1_024;
/** Streams on one connection. A peer needs one, and a second one while it replaces the first. */
export const STREAMS_PER_CONNECTION_MAX = 8;
/** Streams of one peering that may be opened in a burst. An unreliable network needs fewer. */
export const STREAM_OPENS_BURST = 16;
/** A stream whose record is larger counts as one more open for each such size, because it rewrites the record twice. */
export const OPEN_RECORD_BYTES = 128 * 1024;
/**
 * How long the lease of a server may be missing before its services are lost and the peerings of its streams count as
 * failing. A brief reconnect then changes nothing, and the streams of a stopped server can move to other servers.
 */
export const SERVER_LOST_GRACE_MS = SECOND;
