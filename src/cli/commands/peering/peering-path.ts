/** Returns the API path of a peering, followed by `suffix`. */
export const peeringPath = (name: string, suffix = ''): string => `/v1/peering/${encodeURIComponent(name)}${suffix}`;
