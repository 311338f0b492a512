/** Every bound of what is exported, each with its reason. */

/** Services that are looked at again in one turn: about five milliseconds when each has a hundred followers. */
export const SERVICES_A_TURN = 256;
/** Followers whose names are worked out anew in one turn; each is about a millisecond for 10,000 services. */
export const FOLLOWERS_A_TURN = 4;
/** Pause before the state is followed again after a fault: it must not become a loop. */
export const FOLLOW_AGAIN_MS = 1_000;
/**
 * Between two writes of what records say is exported: a burst of new services is a few writes of the records' rows, which
 * hold all names, and not one for each service.
 */
export const RECORD_PAUSE_MS = 200;
/** Records that are written side by side: they become one commit. */
export const RECORDS_AT_ONCE = 64;
/** Instances up to which a service fits into a message whatever they say: one instance is at most about 80 KiB. */
export const SMALL_SERVICE_INSTANCES = 100;
