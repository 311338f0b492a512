/**
 * The topology of the soak: three servers on one etcd, one on SQLite, and two peerings between them through proxies.
 */
import { type EtcdMember, startEtcd } from '../test/support/process/etcd.ts';
import type { Answer } from '../test/support/process/server.ts';
import { type FaultProxy, startProxy } from '../test/support/proxy.ts';
import { until } from '../test/support/until.ts';
import type { ApiRequest, Client } from './client.ts';
import type { ServerName } from './faults.ts';
import type { ClusterName } from './kinds/resource-kind.ts';
import { CONVERGE_MS, LEASE_MS } from './limits.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** One of the two permanent peerings. */
export interface PermanentPeering {
  /** The peering's name in each cluster. */
  readonly names: Readonly<Record<ClusterName, string>>;
  readonly accepting: ClusterName;
}

/** Each cluster is the accepting side of one peering and the dialing side of the other. */
export const PEERINGS: readonly PermanentPeering[] = [
  { names: { a: 'b-dials', b: 'a-dialed' }, accepting: 'a' },
  { names: { a: 'b-dialed', b: 'a-dials' }, accepting: 'b' },
];

export interface Topology extends AsyncDisposable {
  readonly servers: readonly ServerProcess[];
  readonly etcd: EtcdMember;
  /** One per server, in the same order. All connections between the clusters go through them. */
  readonly proxies: readonly FaultProxy[];
  server(name: ServerName): ServerProcess;
  serversOf(cluster: ClusterName): readonly ServerProcess[];
}

/** Starts both clusters, and peers them so that each exports all its services to the other. */
export async function startTopology(client: Client, signal: AbortSignal): Promise<Topology> {
  await using parts = new AsyncDisposableStack();
  const etcd = parts.use(await startEtcd());
  const settings = {
    store: 'etcd',
    'etcd.endpoints': etcd.urls.join(','),
    'etcd.compact': '1m',
    'node.lease': `${LEASE_MS / 1000}s`,
  };
  const a1 = parts.use(await startServerProcess({ name: 'a1', cluster: 'a', settings }));
  const started = await Promise.allSettled([
    startServerProcess({ name: 'a2', cluster: 'a', settings, token: a1.token }),
    startServerProcess({ name: 'a3', cluster: 'a', settings, token: a1.token }),
    startServerProcess({ name: 'b1', cluster: 'b', settings: { 'cluster.datacenter': 'dc2' } }),
  ]);
  const servers = [a1, ...started.flatMap((each) => (each.status === 'fulfilled' ? [parts.use(each.value)] : []))];
  for (const each of started) if (each.status === 'rejected') throw each.reason;
  const proxies: FaultProxy[] = [];
  for (const { peeringPort } of servers) proxies.push(parts.use(await startProxy(peeringPort)));

  const [, , , b1] = servers as [ServerProcess, ServerProcess, ServerProcess, ServerProcess]; // All started.
  await peerClusters(client, { servers, proxies, first: { a: a1, b: b1 } }, signal);
  const owned = parts.move();
  return {
    servers,
    etcd: etcd.first,
    proxies,
    server: (name) => servers.find((server) => server.name === name) as ServerProcess, // All started.
    serversOf: (cluster) => servers.filter((server) => server.cluster === cluster),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface StartedClusters extends Pick<Topology, 'servers' | 'proxies'> {
  readonly first: Readonly<Record<ClusterName, ServerProcess>>;
}

/** Establishes the peerings, and waits until both sides of each are ACTIVE. */
async function peerClusters(client: Client, clusters: StartedClusters, signal: AbortSignal): Promise<void> {
  const send = (cluster: ClusterName, request: ApiRequest): Promise<Answer> =>
    sendOrThrow(client, clusters.first[cluster], request);
  for (const cluster of ['a', 'b'] as const) await send(cluster, exportAllServices(cluster));
  for (const { names, accepting } of PEERINGS) {
    const dialing = accepting === 'a' ? 'b' : 'a';
    const body = { PeerName: names[accepting], ServerExternalAddresses: dialAddresses(clusters, accepting) };
    const generated = await send(accepting, { method: 'POST', path: '/v1/peering/token', body });
    const { PeeringToken } = generated.json<{ PeeringToken: string }>();
    const establish = { PeerName: names[dialing], PeeringToken };
    await send(dialing, { method: 'POST', path: '/v1/peering/establish', body: establish });
  }
  for (const cluster of ['a', 'b'] as const) {
    for (const { names } of PEERINGS) {
      const path = `/v1/peering/${names[cluster]}`;
      const isActive = async (): Promise<boolean> => {
        signal.throwIfAborted();
        return (await send(cluster, { method: 'GET', path })).json<{ State: string }>().State === 'ACTIVE';
      };
      await until(`${names[cluster]} is ACTIVE`, isActive, CONVERGE_MS);
    }
  }
}

/** Returns the addresses at which a cluster is dialed: those of the proxies of its servers. */
export const dialAddresses = (
  { servers, proxies }: Pick<Topology, 'servers' | 'proxies'>,
  cluster: ClusterName,
): readonly string[] =>
  servers.flatMap((server, i) => (server.cluster === cluster ? [`127.0.0.1:${proxies[i]?.port}`] : []));

/** Sends a request of the preparation. @throws Error if it fails */
export async function sendOrThrow(client: Client, server: ServerProcess, request: ApiRequest): Promise<Answer> {
  const { outcome, response, text } = await client.send(server, request, { label: 'preparation' });
  if (outcome === 'done' && response !== undefined) return response;
  throw new Error(`${request.method} ${request.path} on ${server.name} failed: ${text}`);
}

const exportAllServices = (cluster: ClusterName): ApiRequest => ({
  method: 'PUT',
  path: '/v1/config',
  body: {
    Kind: 'exported-services',
    Name: 'default',
    Services: [{ Name: '*', Consumers: PEERINGS.map(({ names }) => ({ Peer: names[cluster] })) }],
  },
});
