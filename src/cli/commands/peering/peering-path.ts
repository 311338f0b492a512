/** Where the API has peerings. */

/** The path of a peering, or of something about it. */
export const peeringPath = (name: string, rest = ''): string => `/v1/peering/${encodeURIComponent(name)}${rest}`;
