/** The outcomes of questions that are given here, with their numbers (RFC 1035, RFC 6891). */
export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  /** A version of EDNS that is not spoken here; told in EDNS itself, as it does not fit into the header. */
  BADVERS: 16,
} as const;

export type RcodeName = keyof typeof rcodes;
export type Rcode = (typeof rcodes)[RcodeName];

/** The name of an outcome. */
export const rcodeName = (rcode: Rcode): RcodeName =>
  // Every number of the type is one of the table.
  Object.entries(rcodes).find(([, number]) => number === rcode)?.[0] as RcodeName;
