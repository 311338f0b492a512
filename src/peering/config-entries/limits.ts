/** The limits of configuration entries, each with its reason. The size of an entry is limited by `limits.body`. */

/** Maximum characters in the description of a source, which lists and the audit log repeat. */
export const DESCRIPTION_CHARACTERS_MAX = 512;
/** Bytes of a body above which an entry is handled in slices, and each caller has one such request at a time. */
export const LARGE_ENTRY_BYTES = 64 * 1024;
/** Peers that a warning names, because a header must be short. */
export const WARNED_PEERS_MAX = 8;
/** Values of `name` in one intention match. */
export const MATCHED_NAMES_MAX = 64;
