/** Every bound of the catalog, each with its reason. */

/** Characters of a name of a node or a service: DNS asks for 63 at most a label; a node's name can be several, joined by dots. */
export const NAME_CHARACTERS_MAX = 128;
/** Characters of an ID of a service or a check: people build them of name, host and port. */
export const ID_CHARACTERS_MAX = 256;
/** Characters of an address: those of a DNS name. */
export const ADDRESS_CHARACTERS_MAX = 253;
/** Tags of a service, and their characters. */
export const TAGS_MAX = 64;
export const TAG_CHARACTERS_MAX = 255;
/** Tagged addresses of a node or a service; `lan`, `wan` and their likes. */
export const TAGGED_ADDRESSES_MAX = 16;
/** Checks of one service or one node: they are kept, shown and sent together. */
export const CHECKS_MAX = 64;
/** Characters kept of what a check says; the rest is cut off. */
export const OUTPUT_CHARACTERS_MAX = 4 * 1024;
/** Characters of the notes on a check. */
export const NOTES_CHARACTERS_MAX = 1024;
/** The shortest time to live of a check: each run-out is a commit. */
export const TTL_MS_MIN = 100;
/** The longest: about a month; who needs longer needs no check. */
export const TTL_MS_MAX = 31 * 24 * 60 * 60 * 1_000;
/** Peers that a query can fail over to: each is looked into on every read. */
export const FAILOVER_PEERS_MAX = 16;
/** Nodes of a service that are waited for one by one; past it every node of the partition wakes the query. */
export const WATCHED_NODES_MAX = 64;
/** How often checks and nodes are looked at: what falls due is seen within it. */
export const DUE_LOOK_MS = 100;
/** Checks that one write turns critical, or services that one write removes. */
export const DUE_BATCH_ROWS = 50;
/** How long a server may be gone before its services count as lost: a lease that is taken up again is none. */
export const LOST_GRACE_MS = 1_000;
