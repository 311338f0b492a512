/** Every bound and span of the cluster's certificates, each with its reason. */

const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

/** Certificates begin this long before they are made: the clocks of peers differ. */
export const BACKDATED_MS = HOUR;
/** A root lives ten years: changing it reaches into every peer. */
export const ROOT_LIFE_MS = 3_652 * DAY;
/** With this left of a root's life a rotation begins by itself: a year to notice one that cannot end. */
export const ROOT_LEFT_MS = 365 * DAY;
/** A stolen key of a server is of use no longer than this; it is renewed after two thirds, so a month is left to mend. */
export const SERVER_LIFE_MS = 90 * DAY;
/** The share of its life after which a server certificate is renewed. */
export const RENEWAL_SHARE = 2 / 3;
/** How long peers that are away may keep a new root from being served (peering-decisions, "Identity"). */
export const ANNOUNCED_MS = 7 * DAY;
/** How long the previous root stays trusted after the switch: every server has switched, and there is a way back. */
export const SWITCHED_MS = DAY;
/** How often the job looks whether something is due; the wall clock may jump over any timer that is set once. */
export const CHECK_MS = HOUR;
/** While a rotation waits for peers: they leave and are deleted without a word to the job. */
export const CHECK_ANNOUNCED_MS = 5 * SECOND;

/** Peers that have not acknowledged, in one answer: enough to see who they are; their number is told besides. */
export const UNACKNOWLEDGED_SHOWN_MAX = 100;

/** Roots in a token or a trust bundle: a cluster has one, or two while it rotates. */
export const ROOTS_MAX = 16;
/** Characters of one root in PEM: an RSA certificate of 16,384 bits has a third of them. */
export const ROOT_CHARACTERS_MAX = 32 * 1024;
