/** Constants for dividing the memory of the process, and the file permissions of the data directory. */

const MEBIBYTE = 2 ** 20;

/** The smallest limit of V8's old generation with which a server starts. An idle one needs 30 MiB. */
export const OLD_GENERATION_BYTES_MIN = 64 * MEBIBYTE;

/** Heap of a server without rows: code, modules, and requests in flight. */
export const HEAP_BASE_BYTES = 40 * MEBIBYTE;

/** Share of the heap beyond HEAP_BASE_BYTES that rows may use. */
export const ROW_SHARE = 0.6;

/** The same in a store that other servers change. A reload builds the new rows while reads still use the old ones. */
export const ROW_SHARE_SHARED_STORE = 0.4;

/** Share that rows may use after a load. A load needs a sixth more than its rows. */
export const LOAD_SHARE = 0.7;

/** Share of cached values that depend on several rows. */
export const CACHE_SHARE = 1 / 16;

/** Share of cached values that depend on one object, such as the JSON text of a row. */
export const FRAGMENT_SHARE = 1 / 10;

/** Characters of a response per byte of the share: its parts, the whole text, and both with two bytes a character. */
export const ANSWER_SHARE = 1 / 16;

/** The same for an indented response, whose parsed value takes ten times its text. */
export const PRETTY_SHARE = 1 / 128;

/** Every server indents responses of this size, among them its API description. */
export const PRETTY_CHARACTERS_MIN = 512 * 1024;

/** Share of responses that clients have not received yet. */
export const UNSENT_SHARE = 1 / 10;

/** Share of a request body. `[{},{},…]` takes 21 times its text. */
export const BODY_SHARE = 1 / 32;

/** Every server accepts bodies of this size. */
export const BODY_BYTES_MIN = MEBIBYTE;

/** Share of all request bodies in progress together, and what every server accepts. They are outside V8's heap. */
export const BODIES_SHARE = 1 / 8;
export const BODIES_BYTES_MIN = 4 * MEBIBYTE;

/** Memory outside V8's heap of an idle server: code, stacks, SQLite, the heap of its thread. */
export const NATIVE_BYTES = 64 * MEBIBYTE;

/** Share of the memory for buffers of requests, responses, TLS, and SQLite. */
export const NATIVE_SHARE = 1 / 8;

/** Part of V8's default limit that is the old generation. */
export const OLD_GENERATION_SHARE = 0.955;

/** The young generation consists of two semi-spaces, and large objects of the size of a third. */
export const YOUNG_SEMI_SPACES = 3;

/** A semi-space by default, and its share of a small memory. */
export const SEMI_SPACE_BYTES_MAX = 32 * MEBIBYTE;
export const SEMI_SPACE_SHARE = 1 / 128;

/** Permission bits of group and others. Files that the server creates have none of them. */
export const GROUP_AND_OTHERS = 0o077;

/** Interval at which the highest returned index is written. A crash forgets at most the commits of this time. */
export const INDEX_FLOOR_MS = 1_000;

/** Largest part of the row limit that one organization, or all organizations that one user created, may have. */
export const HOLDER_SHARE_MAX = 0.5;
/** The same for a partition. A state may have one partition only, and the rest is for team access. */
export const PARTITION_SHARE_MAX = 0.9;
/** Pause after which a caller can write again at most: the burst of `limits.write-rate`, in seconds of that rate. */
export const WRITE_BURST_SECONDS = 60;
/** Part of a row quota from which on a holder is listed by name in the restricted metrics. */
export const CROWDED_SHARE = 0.8;
