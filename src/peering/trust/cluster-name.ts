/** The names of a cluster in its certificates ([PEER-82]). */

export interface ClusterName {
  /** `server.<datacenter>.peering.<trust domain>`. The dialing side verifies it as a DNS name. */
  readonly serverName: string;
  /** `<cluster id>.accord`. */
  readonly trustDomain: string;
  readonly datacenter: string;
}

/** Returns the names of a cluster. @param clusterId UUID */
export function clusterName(clusterId: string, datacenter: string): ClusterName {
  const trustDomain = `${clusterId.toLowerCase()}.accord`;
  return { serverName: `server.${datacenter}.peering.${trustDomain}`, trustDomain, datacenter };
}
