/** Every bound of configuration entries, each with its reason. An entry itself is as large as a body can be. */

/** A sentence or two on why a source is allowed; it stands in lists and in the audit log. */
export const DESCRIPTION_CHARACTERS_MAX = 512;
/** Peers that a warning names: a header has to stay short. */
export const WARNED_PEERS_MAX = 8;
/** Destinations, or sources, that one request may ask the intentions of. */
export const MATCHED_NAMES_MAX = 64;
