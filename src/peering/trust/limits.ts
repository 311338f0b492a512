/** The lifetimes and limits of certificates and CA roots. */

const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

/** How long before its creation a certificate becomes valid, because the clocks of peers differ ([PEER-84]). */
export const BACKDATED_MS = HOUR;
/** Lifetime of a CA root: ten years, because every peer has to learn a new one. */
export const ROOT_LIFE_MS = 3_652 * DAY;
/** Remaining lifetime of a CA root at which the job starts a rotation. A year is enough to notice a stuck rotation. */
export const ROTATE_BEFORE_EXPIRY_MS = 365 * DAY;
/** Lifetime of a server certificate, after which a stolen key is useless. Renewal leaves a month to fix a failure. */
export const SERVER_LIFE_MS = 90 * DAY;
/** Share of its lifetime after which a server certificate is renewed. */
export const RENEWAL_SHARE = 2 / 3;
/** How long disconnected peers can delay the switch to a new CA root ([PEER-86]). */
export const ANNOUNCED_MS = 7 * DAY;
/** How long the old CA root remains trusted after the switch, so that an operator can revert the rotation. */
export const SWITCHED_MS = DAY;
/** Interval at which the job checks for a due step. A single timer could be skipped by a clock jump. */
export const CHECK_INTERVAL_MS = HOUR;
/** CHECK_INTERVAL_MS while a rotation waits for peers. Short, because the job is not notified of deleted peerings. */
export const ANNOUNCED_CHECK_INTERVAL_MS = 5 * SECOND;

/** Peers in one response that have not acknowledged the new CA root. The response also contains their total number. */
export const UNACKNOWLEDGED_LISTED_MAX = 100;

/** CA roots in a peering token or trust bundle. A cluster has one, or two during a rotation. */
export const ROOTS_MAX = 16;
/** Maximum characters in one CA root in PEM. A certificate with a 16,384-bit RSA key has a third of that. */
export const ROOT_CHARACTERS_MAX = 32 * 1024;
