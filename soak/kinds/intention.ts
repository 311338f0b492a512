import { ABSENT } from '../known.ts';
import { type ClusterName, gather, type Kind, type Seen } from './kind.ts';

interface Shown {
  readonly Name: string;
  readonly Sources: readonly { readonly Description?: string }[];
  readonly ModifyIndex: number;
}

const KIND = 'service-intentions';
const pathOf = (key: string): string => `/v1/config/${KIND}/${key}`;
const seenOf = ({ Sources, ModifyIndex }: Shown): Seen => ({
  value: Sources[0]?.Description ?? 'without a description',
  index: ModifyIndex,
});
const entry = (key: string, source: object): object => ({ Kind: KIND, Name: key, Sources: [source] });

/** Configuration entries that say who may call a service; their value is the description of their one source. */
export const intentionsOf = (cluster: ClusterName, workers: number): Kind => ({
  name: `config entry of ${cluster}`,
  cluster,
  workers,
  keysPerWorker: 8,
  waits: true,
  putShows: false,
  key: (worker, at) => `soak-${cluster}-i${worker}-${at}`,
  value: (turn) => `v${turn}`,
  put: (key, value) => ({
    method: 'PUT',
    path: '/v1/config',
    body: entry(key, { Name: 'web', Action: 'allow', Description: value }),
  }),
  remove: (key) => ({ method: 'DELETE', path: pathOf(key) }),
  read: (key) => ({ method: 'GET', path: pathOf(key) }),
  readOne: (answer) => (answer.status === 404 ? { value: ABSENT } : seenOf(answer.json<Shown>())),
  list: () => ({ method: 'GET', path: `/v1/config/${KIND}` }),
  readList: (answer) => gather(answer.json<Shown[]>().map((shown) => [shown.Name, seenOf(shown)] as const)),
  refused: (key) => [
    { ask: { method: 'PUT', path: '/v1/config', body: entry(key, { Name: 'web', Action: 'perhaps' }) }, status: 400 },
    { ask: { method: 'DELETE', path: pathOf(key), token: null }, status: 403 },
  ],
});
