import { ABSENT } from '../known.ts';
import { type ClusterName, gather, type Kind, type Seen } from './kind.ts';

interface ShownService {
  readonly ServicePort: number;
  readonly ModifyIndex: number;
}

interface ShownNode {
  readonly Services: Readonly<
    Record<string, { readonly ID: string; readonly Port: number; readonly ModifyIndex: number }>
  >;
}

const FIRST_PORT = 1_000;
const PORTS = 60_000;

/** The node of a worker's services. */
const nodeOf = (cluster: ClusterName, worker: number | string): string => `soak-${cluster}-n${worker}`;

/** Services in the catalog, which peers import; their value is their port. A worker's services stand on one node. */
export const servicesOf = (cluster: ClusterName, workers: number): Kind => ({
  name: `service of ${cluster}`,
  cluster,
  workers,
  keysPerWorker: 12,
  waits: true,
  putShows: false,
  exported: true,
  key: (worker, at) => `soak-${cluster}-s${worker}-${at}`,
  value: (turn) => `${FIRST_PORT + (turn % PORTS)}`,
  put: (key, value) => ({
    method: 'PUT',
    path: '/v1/catalog/register',
    body: {
      Node: nodeOf(cluster, workerOf(key)),
      Address: '10.0.0.1',
      Service: { Service: key, Port: Number(value) },
    },
  }),
  remove: (key) => ({
    method: 'PUT',
    path: '/v1/catalog/deregister',
    body: { Node: nodeOf(cluster, workerOf(key)), ServiceID: key },
  }),
  read: (key) => ({ method: 'GET', path: `/v1/catalog/service/${key}` }),
  readOne(answer) {
    const [shown, ...more] = answer.json<ShownService[]>();
    if (shown === undefined) return { value: ABSENT };
    return { value: more.length === 0 ? `${shown.ServicePort}` : 'there twice', index: shown.ModifyIndex };
  },
  list: (worker) => ({ method: 'GET', path: `/v1/catalog/node/${nodeOf(cluster, worker)}` }),
  readList(answer) {
    const node = answer.status === 404 ? null : answer.json<ShownNode | null>();
    return gather(
      Object.values(node?.Services ?? {}).map(
        ({ ID, Port, ModifyIndex }) => [ID, { value: `${Port}`, index: ModifyIndex } satisfies Seen] as const,
      ),
    );
  },
  refused: (key) => [
    {
      ask: {
        method: 'PUT',
        path: '/v1/catalog/register',
        body: { Node: nodeOf(cluster, workerOf(key)), Service: key },
      },
      status: 400,
    },
    {
      ask: {
        method: 'PUT',
        path: '/v1/catalog/deregister',
        body: { Node: nodeOf(cluster, workerOf(key)), ServiceID: key },
        token: null,
      },
      status: 403,
    },
  ],
});

/** The worker whose key it is. */
const workerOf = (key: string): string => /-s(\d+)-\d+$/.exec(key)?.[1] ?? '';
