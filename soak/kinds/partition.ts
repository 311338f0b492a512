import { ABSENT } from '../known.ts';
import { gather, type Kind, type Seen } from './kind.ts';

interface Shown {
  readonly Name: string;
  readonly Description: string;
  readonly ModifyIndex: number;
}

const pathOf = (key: string): string => `/v1/partition/${key}`;
const seenOf = ({ Description, ModifyIndex }: Shown): Seen => ({ value: Description, index: ModifyIndex });

/** Partitions, whose value is their description. */
export const partitions: Kind = {
  name: 'partition',
  cluster: 'a',
  workers: 2,
  keysPerWorker: 8,
  waits: true,
  putShows: true,
  key: (worker, at) => `soak-p${worker}-${at}`,
  value: (turn) => `v${turn}`,
  put: (key, value) => ({ method: 'PUT', path: pathOf(key), body: { Description: value } }),
  remove: (key) => ({ method: 'DELETE', path: pathOf(key) }),
  read: (key) => ({ method: 'GET', path: pathOf(key) }),
  readOne: (answer) => (answer.status === 404 ? { value: ABSENT } : seenOf(answer.json<Shown>())),
  list: () => ({ method: 'GET', path: '/v1/partitions' }),
  readList: (answer) =>
    gather(
      answer
        .json<Shown[]>()
        .map((shown) => (shown.Name.startsWith('soak-') ? ([shown.Name, seenOf(shown)] as const) : undefined)),
    ),
  refused: (key) => [
    { ask: { method: 'PUT', path: pathOf(key), body: { Description: 1 } }, status: 400 },
    { ask: { method: 'DELETE', path: pathOf(key), token: null }, status: 403 },
    { ask: { method: 'DELETE', path: pathOf('default') }, status: 409 },
  ],
};
