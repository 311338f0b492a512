import { ABSENT } from '../known.ts';
import { gather, type Kind, type Seen } from './kind.ts';

interface Shown {
  readonly AccessorID: string;
  readonly Description: string;
  readonly ModifyIndex: number;
}

const PATH = '/v1/acl/token';
/** A token's key stands in its description: one whose creation was not answered has no other name that its writer knows. */
const DESCRIPTION = /^(soak-t\d+-\d+) (v\d+)$/;

const seenOf = ({ AccessorID, Description, ModifyIndex }: Shown): Seen => ({
  value: DESCRIPTION.exec(Description)?.[2] ?? Description,
  id: AccessorID,
  index: ModifyIndex,
});
const pathOf = (id: string | undefined): string => (id === undefined ? PATH : `${PATH}/${id}`);

/** ACL tokens, each made with an id of its own. */
export const aclTokens: Kind = {
  name: 'ACL token',
  cluster: 'a',
  workers: 2,
  keysPerWorker: 8,
  waits: true,
  putShows: true,
  key: (worker, at) => `soak-t${worker}-${at}`,
  value: (turn) => `v${turn}`,
  put: (key, value, id) => ({ method: 'PUT', path: pathOf(id), body: { Description: `${key} ${value}` } }),
  remove: (_key, id) => ({ method: 'DELETE', path: pathOf(id) }),
  read: (_key, id) => (id === undefined ? undefined : { method: 'GET', path: pathOf(id) }),
  readOne: (answer) => (answer.status === 404 ? { value: ABSENT } : seenOf(answer.json<Shown>())),
  list: () => ({ method: 'GET', path: '/v1/acl/tokens' }),
  readList: (answer) =>
    gather(
      answer.json<Shown[]>().map((shown) => {
        const key = DESCRIPTION.exec(shown.Description)?.[1];
        return key === undefined ? undefined : ([key, seenOf(shown)] as const);
      }),
    ),
  refused: (key, id) => [
    { ask: { method: 'PUT', path: pathOf(id), body: { Description: `${key} v0`, Grants: 'all' } }, status: 400 },
    { ask: { method: 'PUT', path: pathOf(id), body: { Description: `${key} v0` }, token: null }, status: 403 },
  ],
};
