/** Peering tokens in pieces: what somebody makes of one who edits it. */

/** What a token says; see `src/peering/token.ts`. */
export interface TokenFields {
  readonly CA: readonly string[];
  readonly ManualServerAddresses: readonly string[] | null;
  readonly ServerAddresses: readonly string[];
  readonly ServerName: string;
  readonly PeerID: string;
  readonly EstablishmentSecret: string;
  readonly Remote: { readonly Partition: string; readonly Datacenter: string };
}

export const readToken = (token: string): TokenFields =>
  JSON.parse(Buffer.from(token, 'base64').toString()) as TokenFields;

/** The token with other fields. */
export const editedToken = (token: string, fields: Partial<TokenFields>): string =>
  Buffer.from(JSON.stringify({ ...readToken(token), ...fields })).toString('base64');

/** The token of a cluster that can only be reached through a proxy on loopback, and stays so whatever it says. */
export const tokenThrough = (token: string, { port }: { readonly port: number }): string =>
  editedToken(token, { ManualServerAddresses: [`127.0.0.1:${port}`], ServerAddresses: [] });
