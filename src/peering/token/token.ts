/**
 * Encoding of peering tokens: standard base64 of compact JSON ([PEER-40]). Keys and their order are those of Consul, so
 * that a Consul cluster accepts the token.
 */

export interface PeeringToken {
  /** PEM CA roots of the accepting cluster, each ending in a newline. */
  readonly CA: readonly string[];
  /** Addresses given when the token was generated, `host:port`, or `null`. */
  readonly ManualServerAddresses: readonly string[] | null;
  readonly ServerAddresses: readonly string[];
  /** The name in the certificate of the servers. */
  readonly ServerName: string;
  /** The accepting side's ID of the peering. */
  readonly PeerID: string;
  /** Valid for one exchange. */
  readonly EstablishmentSecret: string;
  readonly Remote: { readonly Partition: string; readonly Datacenter: string; readonly Locality: null };
}

/** Returns the text of a token, which is a secret. */
export function encodeToken(token: PeeringToken): string {
  const { CA, ManualServerAddresses, ServerAddresses, ServerName, PeerID, EstablishmentSecret, Remote } = token;
  const { Partition, Datacenter } = Remote;
  const ordered: PeeringToken = {
    CA,
    ManualServerAddresses,
    ServerAddresses,
    ServerName,
    PeerID,
    EstablishmentSecret,
    Remote: { Partition, Datacenter, Locality: null },
  };
  return Buffer.from(JSON.stringify(ordered)).toString('base64');
}

/** Returns the addresses in the order in which to try them: the manual ones first. */
export function tokenAddresses({ ManualServerAddresses, ServerAddresses }: PeeringToken): string[] {
  return [...new Set([...(ManualServerAddresses ?? []), ...ServerAddresses])];
}

const SERVER_NAME = /^server\..+?\.peering\.(.+)$/;

/** Returns the trust domain in a server name, in lower case, or an empty string. */
export function trustDomainOf(serverName: string): string {
  return SERVER_NAME.exec(serverName.toLowerCase())?.[1] ?? '';
}

/** Returns the identity of a cluster: its trust domain, or the whole server name when that has none. */
export function clusterOf(serverName: string): string {
  return trustDomainOf(serverName) || serverName.toLowerCase();
}

/** Whether the server name, which TLS authenticates, contains `datacenter`. True if either of them is missing. */
export function isDatacenterOf(serverName: string, datacenter: string): boolean {
  if (datacenter === '' || trustDomainOf(serverName) === '') return true;
  return serverName.toLowerCase().startsWith(`server.${datacenter.toLowerCase()}.peering.`);
}
