/** Every bound of the peering service, each with its reason. */

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

/** How long a deleted peering can still be read at least, so that who deleted it sees that it is. */
export const READABLE_AFTER_DELETION_MS = 5 * SECOND;
/** How long a call that needs a name waits for the peering that is being removed under it. */
export const REMOVAL_WAIT_MS = 10 * SECOND;
/** How often is looked for peerings to remove: soon enough that a name is free again when its time is over. */
export const REMOVAL_LOOK_MS = SECOND / 4;
/** Rows of imported data that one write removes: a commit of some milliseconds. */
export const REMOVAL_BATCH_ROWS = 100;
/** Stream secrets that a start seals at once: as many as a few commits take, whatever the number of peerings. */
export const SEALED_AT_ONCE_MAX = 100;
/** How long the other side of a deleted peering can be away and still be told. */
export const TOMBSTONE_MS = 30 * DAY;
/** How long an establish that died holds its name. */
export const RESERVATION_MS = 30 * SECOND;
/** How long an establish tries to reach the other cluster, over all addresses. */
export const EXCHANGE_MS = 3 * SECOND;
/** Addresses of one cluster: more than anybody has, few enough to be tried one after another. */
export const ADDRESSES_MAX = 64;
/** Pairs of Meta. */
export const META_PAIRS_MAX = 64;
/** Characters of a key of Meta. */
export const META_KEY_CHARACTERS_MAX = 128;
/** Bytes of a value of Meta. */
export const META_VALUE_BYTES_MAX = 512;
/** Characters of a secret that another cluster presents or gives; UUIDs have 36, and what is longer is not taken. */
export const SECRET_CHARACTERS_MAX = 128;
/** Characters of a name that another cluster tells of itself: those of a DNS name, which none of ours reaches. */
export const REMOTE_CHARACTERS_MAX = 253;
/** Characters of a peering token: 64 addresses and a chain of certificates fit many times. */
export const TOKEN_CHARACTERS_MAX = 256 * 1024;

/** The longest pause between two attempts to open a stream: what the wire's documents say. */
export const BACKOFF_MS_MAX = 64 * SECOND;
/** The first pause; doubled from there, each with jitter. */
export const BACKOFF_MS_MIN = SECOND / 2;
/** A stream that ended sooner was none: each costs a commit at both ends, and two lines of log. */
export const STREAM_SETTLED_MS = 5 * SECOND;
/** As how many failures such streams count at most: three doublings of the pause, so one is tried every few seconds. */
export const BRIEF_STREAMS_MAX = 3;
/** A message of the stream, or of the exchange. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;
/** Services that are taken from one peer: their names stand in its record, which is written at every change of state. */
export const IMPORTED_SERVICES_MAX = 32_768;
/** Characters of all those names: a record must fit into what etcd takes at once. */
export const IMPORTED_NAMES_CHARACTERS_MAX = 512 * 1024;
/**
 * Instances of all services that are taken from one peer: far more than a busy cluster exports to another, and with those
 * the smallest of them, of a few bytes each, cannot fill the memory of every server here.
 */
export const IMPORTED_INSTANCES_MAX = 131_072;
/**
 * Bytes of all those instances, as they are kept: a kibibyte for each of so many. Sixteen such peers fit into etcd as it is
 * by default, and what one of them takes of memory is a few hundred megabytes.
 */
export const IMPORTED_BYTES_MAX = 128 * 1024 * 1024;
/** Characters of one: as many as a name in DNS can have. */
export const SERVICE_NAME_CHARACTERS_MAX = 253;
/** Services of one peer that are marked as not taken: a peer must not fill the state with what it does wrong. */
export const IMPORT_PROBLEMS_MAX = 1_000;
/** What a stranger may send before it has shown a secret: an Open, or an exchange, is some hundred bytes. */
export const UNPROVEN_BYTES_MAX = 16 * 1024;
/** Connections that have shown no secret yet: all peers of a busy cluster may come back at once. */
export const UNPROVEN_CONNECTIONS_MAX = 1_024;
/** Streams of one connection: a peer needs one, and a second while it replaces the first. */
export const STREAMS_OF_CONNECTION_MAX = 8;
/** Streams of one peering that may be opened one after another: more than a bad network makes a dialer need. */
export const STREAM_OPENS_BURST = 16;
/** Past that, one in this time: about as often as a dialer tries whose streams end as soon as they are open. */
export const STREAM_OPENS_MS = SECOND / 2;
/** How often is looked for peerings whose stream's server is gone. */
export const ORPHAN_LOOK_MS = SECOND / 4;
/** How long after the death of a server its streams may move elsewhere before their peerings count as failing. */
export const ORPHAN_GRACE_MS = SECOND;
