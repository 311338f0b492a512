/** Constants for estimating row capacity, and the file permissions of the data directory. */

/**
 * Estimated heap bytes of a row with its index entries. 450,000 ACL tokens with two indexes took 540 bytes each; larger
 * rows get 30 % more. A state of much larger rows, such as services with long Meta, needs a lower `state.rows-max`.
 */
export const ROW_BYTES = 700;

/** Estimated heap bytes of a server without rows: code and requests in flight. */
export const HEAP_BASE_BYTES = 64_000_000;

/** Share of the heap limit that rows may use. V8 and large responses need the rest. */
export const HEAP_SHARE_MAX = 0.8;

/** Minimum of `state.rows-max`: enough for the rows of a first start. */
export const ROWS_MIN = 1_000;

/** Permission bits of group and others. Files that the server creates have none of them. */
export const GROUP_AND_OTHERS = 0o077;
/** Largest part of the row limit that one organization, or all organizations that one user created, may have. */
export const HOLDER_SHARE_MAX = 0.5;
/** Pause after which a caller can write again at most: the burst of `limits.write-rate`, in seconds of that rate. */
export const WRITE_BURST_SECONDS = 60;
/** Part of a row quota from which on a holder is listed by name in the restricted metrics. */
export const CROWDED_SHARE = 0.8;
