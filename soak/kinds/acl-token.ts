import { ABSENT } from '../model.ts';
import { byKey, type Observation, type ResourceKind } from './resource-kind.ts';

interface TokenJson {
  readonly AccessorID: string;
  readonly Description: string;
  readonly ModifyIndex: number;
}

const PATH = '/v1/acl/token';
/** The description contains the key, because a worker that lost the response to a creation knows no accessor ID. */
const DESCRIPTION = /^(soak-t\d+-\d+) (v\d+)$/;

const observe = ({ AccessorID, Description, ModifyIndex }: TokenJson): Observation => ({
  value: DESCRIPTION.exec(Description)?.[2] ?? Description,
  id: AccessorID,
  index: ModifyIndex,
});
const pathOf = (id: string | undefined): string => (id === undefined ? PATH : `${PATH}/${id}`);

/** ACL tokens with generated accessor IDs. */
export const aclTokens: ResourceKind = {
  name: 'ACL token',
  cluster: 'a',
  workers: 2,
  keysPerWorker: 8,
  supportsBlockingQueries: true,
  putReturnsResource: true,
  key: (worker, slot) => `soak-t${worker}-${slot}`,
  value: (n) => `v${n}`,
  put: (key, value, id) => ({ method: 'PUT', path: pathOf(id), body: { Description: `${key} ${value}` } }),
  delete: (_key, id) => ({ method: 'DELETE', path: pathOf(id) }),
  read: (_key, id) => (id === undefined ? undefined : { method: 'GET', path: pathOf(id) }),
  parseRead: (response) => (response.status === 404 ? { value: ABSENT } : observe(response.json<TokenJson>())),
  list: () => ({ method: 'GET', path: '/v1/acl/tokens' }),
  parseList: (response) =>
    byKey(
      response.json<TokenJson[]>().map((token) => {
        const key = DESCRIPTION.exec(token.Description)?.[1];
        return key === undefined ? undefined : ([key, observe(token)] as const);
      }),
    ),
  invalidRequests: (key, id) => [
    { request: { method: 'PUT', path: pathOf(id), body: { Description: `${key} v0`, Grants: 'all' } }, status: 400 },
    { request: { method: 'PUT', path: pathOf(id), body: { Description: `${key} v0` }, token: null }, status: 403 },
  ],
};
