import { ABSENT } from '../model.ts';
import { byKey, type Observation, type ResourceKind } from './resource-kind.ts';

interface PartitionJson {
  readonly Name: string;
  readonly Description: string;
  readonly ModifyIndex: number;
}

const pathOf = (key: string): string => `/v1/partition/${key}`;
const observe = ({ Description, ModifyIndex }: PartitionJson): Observation => ({
  value: Description,
  index: ModifyIndex,
});

/** Partitions. The value is the description. */
export const partitions: ResourceKind = {
  name: 'partition',
  cluster: 'a',
  workers: 2,
  keysPerWorker: 8,
  supportsBlockingQueries: true,
  putReturnsResource: true,
  key: (worker, slot) => `soak-p${worker}-${slot}`,
  value: (n) => `v${n}`,
  put: (key, value) => ({ method: 'PUT', path: pathOf(key), body: { Description: value } }),
  delete: (key) => ({ method: 'DELETE', path: pathOf(key) }),
  read: (key) => ({ method: 'GET', path: pathOf(key) }),
  parseRead: (response) => (response.status === 404 ? { value: ABSENT } : observe(response.json<PartitionJson>())),
  list: () => ({ method: 'GET', path: '/v1/partitions' }),
  parseList: (response) =>
    byKey(
      response
        .json<PartitionJson[]>()
        .map((each) => (each.Name.startsWith('soak-') ? ([each.Name, observe(each)] as const) : undefined)),
    ),
  invalidRequests: (key) => [
    { request: { method: 'PUT', path: pathOf(key), body: { Description: 1 } }, status: 400 },
    { request: { method: 'DELETE', path: pathOf(key), token: null }, status: 403 },
    { request: { method: 'DELETE', path: pathOf('default') }, status: 409 },
  ],
};
