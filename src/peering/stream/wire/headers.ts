/** Metadata with which clusters of Accord tell each other what they are; others neither send nor read it. */

/** The version of the server: of the dialing side in its calls, of the accepting side in its answers. */
export const ACCORD_VERSION_HEADER = 'accord-version';

/** The accepting side's clock, RFC 3339, in its answers. */
export const ACCORD_TIME_HEADER = 'accord-time';
