/** gRPC metadata that Accord servers exchange. Other software neither sends nor reads it. */

/** The version of the server: the dialing side's in requests, the accepting side's in responses. */
export const ACCORD_VERSION_HEADER = 'accord-version';

/** The accepting side's clock in responses, RFC 3339. */
export const ACCORD_TIME_HEADER = 'accord-time';
