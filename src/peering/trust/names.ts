/** The names by which peers know this cluster. Source: peering-decisions, "Identity"; the peer stream's documents. */

export interface ClusterName {
  /** `server.<datacenter>.peering.<trust domain>`: what dialers verify, as a DNS name. */
  readonly serverName: string;
  /** `<cluster id>.accord`. */
  readonly trustDomain: string;
  readonly datacenter: string;
}

/** The names of the cluster with this id, a UUID. */
export function clusterName(clusterId: string, datacenter: string): ClusterName {
  const trustDomain = `${clusterId.toLowerCase()}.accord`;
  return { serverName: `server.${datacenter}.peering.${trustDomain}`, trustDomain, datacenter };
}
