/** What memory is reckoned with, and who may read what is written; each with its reason. */

/**
 * Heap of a row with its entries in indexes: 540 bytes measured at 450,000 ACL tokens, which have two; 30 % more for rows
 * that say more. A state of much larger rows, such as services with long Meta, wants a lower `state.rows-max`.
 */
export const ROW_BYTES = 700;

/** Heap of a server without rows: code, and what the requests under way hold. */
export const HEAP_BASE_BYTES = 64_000_000;

/** Share of the heap's limit that may be in use: the rest is what V8 needs to work, and what long answers take. */
export const HEAP_SHARE_MAX = 0.8;

/** The least that `state.rows-max` can be set to: below it not even the first rows would be safe. */
export const ROWS_MIN = 1_000;

/** Permissions of anybody but the server's own user, its group included: on what it makes there are none. */
export const OTHERS = 0o077;
