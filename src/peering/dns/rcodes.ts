/** The response codes in use (RFC 1035, RFC 6891). */
export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  /** An unsupported EDNS version. The code does not fit into the header, so part of it is in the EDNS record. */
  BADVERS: 16,
} as const;

export type RcodeName = keyof typeof rcodes;
export type Rcode = (typeof rcodes)[RcodeName];

export const rcodeName = (rcode: Rcode): RcodeName =>
  // Every value of the type is in the table.
  Object.entries(rcodes).find(([, number]) => number === rcode)?.[0] as RcodeName;
