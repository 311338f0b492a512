/**
 * Peering tokens: what one cluster tells another so that it can dial. Standard base64 of compact JSON; the keys and
 * their order are those of the peer stream's documents, so that a Consul cluster reads them, too.
 */

/** A token as it is on the wire. */
export interface PeeringToken {
  /** PEM certificates of the cluster that made it, each ending in a newline. */
  readonly CA: readonly string[];
  /** `host:port`, given by hand when the token was made; null: none were. */
  readonly ManualServerAddresses: readonly string[] | null;
  readonly ServerAddresses: readonly string[];
  /** What the certificate of its servers names. */
  readonly ServerName: string;
  /** The maker's ID of the peering. */
  readonly PeerID: string;
  /** Good for one exchange. */
  readonly EstablishmentSecret: string;
  readonly Remote: { readonly Partition: string; readonly Datacenter: string; readonly Locality: null };
}

/** The text that people carry from one cluster to the other. It is a secret. */
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

/** Where the other cluster can be reached, in the order in which to try: the addresses given by hand first. */
export function tokenAddresses({ ManualServerAddresses, ServerAddresses }: PeeringToken): string[] {
  return [...new Set([...(ManualServerAddresses ?? []), ...ServerAddresses])];
}

const SERVER_NAME = /^server\..+?\.peering\.(.+)$/;

/** The trust domain that a server name tells, in lower case; empty when it tells none. */
export function trustDomainOf(serverName: string): string {
  return SERVER_NAME.exec(serverName.toLowerCase())?.[1] ?? '';
}

/** What tells clusters apart: the trust domain, or the whole server name where it tells none. */
export function clusterOf(serverName: string): string {
  return trustDomainOf(serverName) || serverName.toLowerCase();
}

/**
 * Whether a token may name this datacenter: that of the server name, which TLS proves, or none. A server name of another
 * form tells nothing about it.
 */
export function isDatacenterOf(serverName: string, datacenter: string): boolean {
  if (datacenter === '' || trustDomainOf(serverName) === '') return true;
  return serverName.toLowerCase().startsWith(`server.${datacenter.toLowerCase()}.peering.`);
}
