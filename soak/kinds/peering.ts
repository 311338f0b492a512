import { ABSENT } from '../known.ts';
import { gather, type Kind, type Seen } from './kind.ts';

interface Shown {
  readonly Name: string;
  readonly Meta?: { readonly turn?: string };
  readonly DeletedAt?: string;
  readonly ModifyIndex: number;
}

const pathOf = (key: string): string => `/v1/peering/${key}`;

/** A deleted one can be read for some seconds more, and is not there any more. */
const seenOf = ({ Meta, DeletedAt, ModifyIndex }: Shown): Seen => ({
  value: DeletedAt === undefined ? (Meta?.turn ?? 'without a turn') : ABSENT,
  index: ModifyIndex,
});

/** Peerings that wait for somebody to establish them; their value stands in their metadata. */
export const peerings: Kind = {
  name: 'peering',
  cluster: 'a',
  workers: 2,
  keysPerWorker: 8,
  waits: true,
  putShows: false,
  key: (worker, at) => `soak-peer-${worker}-${at}`,
  value: (turn) => `v${turn}`,
  put: (key, value) => ({
    method: 'POST',
    path: '/v1/peering/token',
    body: { PeerName: key, Meta: { turn: value }, ServerExternalAddresses: ['127.0.0.1:1'] },
  }),
  remove: (key) => ({ method: 'DELETE', path: pathOf(key) }),
  read: (key) => ({ method: 'GET', path: pathOf(key) }),
  readOne: (answer) => (answer.status === 404 ? { value: ABSENT } : seenOf(answer.json<Shown>())),
  list: () => ({ method: 'GET', path: '/v1/peerings?name-prefix=soak-peer' }),
  readList: (answer) => gather(answer.json<Shown[]>().map((shown) => [shown.Name, seenOf(shown)] as const)),
  isBusy: (text) => text.includes('is being deleted'),
  refused: (key) => [
    { ask: { method: 'POST', path: '/v1/peering/token', body: { PeerName: key, Meta: 'none' } }, status: 400 },
    { ask: { method: 'DELETE', path: pathOf(key), token: null }, status: 403 },
    {
      ask: { method: 'POST', path: '/v1/peering/establish', body: { PeerName: key, PeeringToken: 'bm90IGEgdG9rZW4=' } },
      status: 400,
    },
  ],
};
