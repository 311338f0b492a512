/** The limits of the catalog and the local agent, each with its reason ([SVC-24], [SVC-48]). */

/** Maximum characters in the name of a node or service. The name of a node can consist of several DNS labels of 63. */
export const NAME_CHARACTERS_MAX = 128;
/** Maximum characters in the ID of a service or check. Clients build IDs from a name, a host and a port. */
export const ID_CHARACTERS_MAX = 256;
export const TAGS_MAX = 64;
export const TAG_CHARACTERS_MAX = 255;
/** Tagged addresses (`lan`, `wan`) of a node or service. */
export const TAGGED_ADDRESSES_MAX = 16;
/** Checks of one service or node. They share a row and are returned and sent together. */
export const CHECKS_MAX = 64;
/** Maximum characters of a check's output that the server stores. Longer output is truncated. */
export const OUTPUT_CHARACTERS_MAX = 4 * 1024;
export const NOTES_CHARACTERS_MAX = 1024;
/** Shortest TTL of a check. Each expiry is a commit. */
export const TTL_MS_MIN = 100;
/** Longest TTL of a check, 31 days. */
export const TTL_MS_MAX = 31 * 24 * 60 * 60 * 1_000;
/** Peers in `failover`. Every read of the service evaluates all of them. */
export const FAILOVER_PEERS_MAX = 16;
/** Nodes that one service query watches individually. Above this, it watches all nodes of the partition ([SVC-43]). */
export const WATCHED_NODES_MAX = 64;
/** Instances in which one service query looks for its nodes. Above this, it watches all nodes of the partition, too. */
export const WATCHED_INSTANCES_MAX = 1_000;
/** Services of a node in which the removal of a check looks at once. On larger nodes it runs in slices. */
export const CHECKED_SERVICES_AT_ONCE = 1_000;
/** How often the background jobs look for expired checks and lost servers, in milliseconds ([SVC-56]). */
export const DEADLINE_POLL_MS = 100;
