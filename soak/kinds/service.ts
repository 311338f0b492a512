import { ABSENT } from '../model.ts';
import { byKey, type ClusterName, DUPLICATE, type Observation, type ResourceKind } from './resource-kind.ts';

interface ServiceJson {
  readonly ServicePort: number;
  readonly ModifyIndex: number;
}

interface NodeJson {
  readonly Services: Readonly<
    Record<string, { readonly ID: string; readonly Port: number; readonly ModifyIndex: number }>
  >;
}

const FIRST_PORT = 1_000;
const PORTS = 60_000;

/** Services in the catalog, which the other cluster imports. The value is the port. Each worker has one node. */
export const servicesOf = (cluster: ClusterName, workers: number): ResourceKind => ({
  name: `service of ${cluster}`,
  cluster,
  workers,
  keysPerWorker: 12,
  supportsBlockingQueries: true,
  putReturnsResource: false,
  isExported: true,
  key: (worker, slot) => `soak-${cluster}-s${worker}-${slot}`,
  value: (n) => `${FIRST_PORT + (n % PORTS)}`,
  put: (key, value) => ({
    method: 'PUT',
    path: '/v1/catalog/register',
    body: {
      Node: nodeName(cluster, workerOf(key)),
      Address: '10.0.0.1',
      Service: { Service: key, Port: Number(value) },
    },
  }),
  delete: (key) => ({
    method: 'PUT',
    path: '/v1/catalog/deregister',
    body: { Node: nodeName(cluster, workerOf(key)), ServiceID: key },
  }),
  read: (key) => ({ method: 'GET', path: `/v1/catalog/service/${key}` }),
  parseRead(response) {
    const [service, ...others] = response.json<ServiceJson[]>();
    if (service === undefined) return { value: ABSENT };
    return { value: others.length === 0 ? `${service.ServicePort}` : DUPLICATE, index: service.ModifyIndex };
  },
  list: (worker) => ({ method: 'GET', path: `/v1/catalog/node/${nodeName(cluster, worker)}` }),
  parseList(response) {
    const node = response.status === 404 ? null : response.json<NodeJson | null>();
    return byKey(
      Object.values(node?.Services ?? {}).map(
        ({ ID, Port, ModifyIndex }) => [ID, { value: `${Port}`, index: ModifyIndex } satisfies Observation] as const,
      ),
    );
  },
  invalidRequests: (key) => [
    {
      request: {
        method: 'PUT',
        path: '/v1/catalog/register',
        body: { Node: nodeName(cluster, workerOf(key)), Service: key },
      },
      status: 400,
    },
    {
      request: {
        method: 'PUT',
        path: '/v1/catalog/deregister',
        body: { Node: nodeName(cluster, workerOf(key)), ServiceID: key },
        token: null,
      },
      status: 403,
    },
  ],
});

const nodeName = (cluster: ClusterName, worker: number | string): string => `soak-${cluster}-n${worker}`;

const workerOf = (key: string): string => /-s(\d+)-\d+$/.exec(key)?.[1] ?? '';
