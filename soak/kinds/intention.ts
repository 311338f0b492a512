import { ABSENT } from '../model.ts';
import { byKey, type ClusterName, type Observation, type ResourceKind } from './resource-kind.ts';

interface EntryJson {
  readonly Name: string;
  readonly Sources: readonly { readonly Description?: string }[];
  readonly ModifyIndex: number;
}

const KIND = 'service-intentions';
const pathOf = (key: string): string => `/v1/config/${KIND}/${key}`;
const observe = ({ Sources, ModifyIndex }: EntryJson): Observation => ({
  value: Sources[0]?.Description ?? 'no description',
  index: ModifyIndex,
});
const entry = (key: string, source: object): object => ({ Kind: KIND, Name: key, Sources: [source] });

/** `service-intentions` entries. The value is the description of the only source. */
export const intentionsOf = (cluster: ClusterName, workers: number): ResourceKind => ({
  name: `config entry of ${cluster}`,
  cluster,
  workers,
  keysPerWorker: 8,
  supportsBlockingQueries: true,
  putReturnsResource: false,
  key: (worker, slot) => `soak-${cluster}-i${worker}-${slot}`,
  value: (n) => `v${n}`,
  put: (key, value) => ({
    method: 'PUT',
    path: '/v1/config',
    body: entry(key, { Name: 'web', Action: 'allow', Description: value }),
  }),
  delete: (key) => ({ method: 'DELETE', path: pathOf(key) }),
  read: (key) => ({ method: 'GET', path: pathOf(key) }),
  parseRead: (response) => (response.status === 404 ? { value: ABSENT } : observe(response.json<EntryJson>())),
  list: () => ({ method: 'GET', path: `/v1/config/${KIND}` }),
  parseList: (response) => byKey(response.json<EntryJson[]>().map((each) => [each.Name, observe(each)] as const)),
  invalidRequests: (key) => [
    {
      request: { method: 'PUT', path: '/v1/config', body: entry(key, { Name: 'web', Action: 'perhaps' }) },
      status: 400,
    },
    { request: { method: 'DELETE', path: pathOf(key), token: null }, status: 403 },
  ],
});
