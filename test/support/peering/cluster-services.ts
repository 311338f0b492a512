/** Requests for services to clusters that run as processes. */

import type { Answer } from '../process/server.ts';
import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';

export interface Registration {
  readonly service: string;
  /** Defaults to `<service>-node`. */
  readonly node?: string;
  readonly id?: string;
  readonly port?: number;
  /** The status of a check of the service. Without it the service has no check. */
  readonly status?: 'passing' | 'warning' | 'critical';
}

async function put(cluster: Cluster, path: string, body: unknown): Promise<void> {
  const answer: Answer = await cluster.request('PUT', path, { body });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
}

export function register(
  cluster: Cluster,
  { service, node, id = service, port = 0, status }: Registration,
): Promise<void> {
  return put(cluster, '/v1/catalog/register', {
    Node: node ?? `${service}-node`,
    Address: '10.0.0.1',
    Service: { Service: service, ID: id, Port: port },
    ...(status !== undefined && { Check: { Name: 'alive', Status: status, ServiceID: id } }),
  });
}

/** Deregisters a service, or without `serviceId` the node with all its services. */
export const deregister = (cluster: Cluster, node: string, serviceId?: string): Promise<void> =>
  put(cluster, '/v1/catalog/deregister', { Node: node, ...(serviceId !== undefined && { ServiceID: serviceId }) });

/** Replaces the exports: `{ web: ['east'] }` exports only `web`, to the peer `east`. */
export const exportOnly = (cluster: Cluster, exports: Readonly<Record<string, readonly string[]>>): Promise<void> =>
  put(cluster, '/v1/config', {
    Kind: 'exported-services',
    Name: 'default',
    Services: Object.entries(exports).map(([Name, peers]) => ({ Name, Consumers: peers.map((Peer) => ({ Peer })) })),
  });

interface Entry {
  readonly Node: { readonly Node: string };
  readonly Service: { readonly ID: string; readonly Port: number };
  readonly Checks: readonly { readonly Status: string }[];
}

/** Returns the instances of a service, as `node/id:port status`. Without `peer`, those of the cluster itself. */
export async function instances(cluster: Cluster, service: string, peer?: string): Promise<readonly string[]> {
  const query = peer === undefined ? '' : `?peer=${peer}`;
  const answer = await cluster.request('GET', `/v1/health/service/${service}${query}`);
  if (answer.status !== 200) throw new Error(`health of ${service}: ${answer.status} ${answer.text}`);
  return answer
    .json<readonly Entry[]>()
    .map(({ Node, Service, Checks }) =>
      `${Node.Node}/${Service.ID}:${Service.Port} ${Checks.map(({ Status }) => Status).join()}`.trim(),
    );
}

/** Waits until an imported service has exactly these instances. */
export async function untilInstances(
  cluster: Cluster,
  { service, peer }: { readonly service: string; readonly peer: string },
  wanted: readonly string[],
): Promise<void> {
  let found: readonly string[] = [];
  const fits = async (): Promise<boolean> => {
    found = await instances(cluster, service, peer);
    return found.join() === wanted.join();
  };
  await until(`${service} of ${peer} is ${wanted.join()}`, fits, 20_000).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${found.join()}`);
  });
}

/** Returns the number of instances of each service imported from a peer, sorted by name. */
export async function importedFrom(cluster: Cluster, peer: string): Promise<Readonly<Record<string, number>>> {
  const answer = await cluster.request('GET', `/v1/peering/${peer}/imported-services`);
  if (answer.status !== 200) throw new Error(`imported from ${peer}: ${answer.status} ${answer.text}`);
  const services = answer.json<readonly { readonly Service: string; readonly Instances: number }[]>();
  return Object.fromEntries(services.map(({ Service, Instances }) => [Service, Instances]));
}

/** Waits until exactly these services are imported from a peer. */
export async function untilImported(
  cluster: Cluster,
  peer: string,
  names: readonly string[],
  ms = 20_000,
): Promise<void> {
  let found: Readonly<Record<string, number>> = {};
  const fits = async (): Promise<boolean> => {
    found = await importedFrom(cluster, peer);
    return Object.keys(found).join() === names.join() && Object.values(found).every((count) => count > 0);
  };
  await until(`${names.length} services of ${peer}`, fits, ms).catch((error: Error) => {
    throw new Error(`${error.message}; they are ${JSON.stringify(found).slice(0, 500)}`);
  });
}
