import { ABSENT } from '../model.ts';
import { byKey, type Observation, type ResourceKind } from './resource-kind.ts';

interface PeeringJson {
  readonly Name: string;
  readonly Meta?: { readonly turn?: string };
  readonly DeletedAt?: string;
  readonly ModifyIndex: number;
}

const pathOf = (key: string): string => `/v1/peering/${key}`;

/** Reports a deleted peering as absent, although it remains readable for some seconds. */
const observe = ({ Meta, DeletedAt, ModifyIndex }: PeeringJson): Observation => ({
  value: DeletedAt === undefined ? (Meta?.turn ?? 'no metadata') : ABSENT,
  index: ModifyIndex,
});

/** Pending peerings that are never established. The value is in the metadata. */
export const peerings: ResourceKind = {
  name: 'peering',
  cluster: 'a',
  workers: 2,
  keysPerWorker: 8,
  supportsBlockingQueries: true,
  putReturnsResource: false,
  key: (worker, slot) => `soak-peer-${worker}-${slot}`,
  value: (n) => `v${n}`,
  put: (key, value) => ({
    method: 'POST',
    path: '/v1/peering/token',
    body: { PeerName: key, Meta: { turn: value }, ServerExternalAddresses: ['127.0.0.1:1'] },
  }),
  delete: (key) => ({ method: 'DELETE', path: pathOf(key) }),
  read: (key) => ({ method: 'GET', path: pathOf(key) }),
  parseRead: (response) => (response.status === 404 ? { value: ABSENT } : observe(response.json<PeeringJson>())),
  list: () => ({ method: 'GET', path: '/v1/peerings?name-prefix=soak-peer' }),
  parseList: (response) => byKey(response.json<PeeringJson[]>().map((each) => [each.Name, observe(each)] as const)),
  isBusy: (text) => text.includes('is being deleted'),
  invalidRequests: (key) => [
    { request: { method: 'POST', path: '/v1/peering/token', body: { PeerName: key, Meta: 'none' } }, status: 400 },
    { request: { method: 'DELETE', path: pathOf(key), token: null }, status: 403 },
    {
      request: {
        method: 'POST',
        path: '/v1/peering/establish',
        body: { PeerName: key, PeeringToken: 'bm90IGEgdG9rZW4=' },
      },
      status: 400,
    },
  ],
};
