import type { Answer } from '../../test/support/process/server.ts';
import {
  type JsonApiDocument,
  MEDIA_TYPE,
  type ResourceObject,
  resource,
  toOne,
} from '../../test/support/team-access/team-access.ts';
import type { ApiRequest } from '../client.ts';
import { ABSENT } from '../model.ts';
import { byKey, type Observation, type ResourceKind } from './resource-kind.ts';

/** The organization that contains the rows. */
export interface TeamAccessOrganization {
  /** The token of an owner. */
  readonly token: string;
  /** IDs of teams. Each may have one row on each workspace. */
  readonly teams: readonly string[];
  /** IDs of workspaces, one per worker. */
  readonly workspaces: readonly string[];
}

const WORKERS = 2;
const TEAMS = 8;
const PATH = '/api/v2/team-workspaces';
const FIXED_LEVELS = ['read', 'plan', 'write', 'admin'] as const;
const RUNS = ['read', 'plan', 'apply'] as const;
const VARIABLES = ['none', 'read', 'write'] as const;
const STATE_VERSIONS = ['none', 'read-outputs', 'read', 'write'] as const;

const teamAccessRequest = (token: string, method: ApiRequest['method'], path: string, body?: unknown): ApiRequest => ({
  method,
  path,
  body,
  token: null,
  headers: { authorization: `Bearer ${token}`, ...(method !== 'GET' && { 'content-type': MEDIA_TYPE }) },
});

/** Creates the organization. `send` sends a request to the cluster, and throws unless it succeeds. */
export async function createTeamAccessOrganization(
  adminToken: string,
  send: (request: ApiRequest) => Promise<Answer>,
): Promise<TeamAccessOrganization> {
  const post = async (token: string, path: string, type: string, attributes: object): Promise<ResourceObject> => {
    const response = await send(teamAccessRequest(token, 'POST', `/api/v2${path}`, resource(type, { ...attributes })));
    return response.json<JsonApiDocument>().data;
  };
  const user = await post(adminToken, '/admin/users', 'users', { username: 'soak', email: 'soak@example.org' });
  const token = String(user.attributes['token']);
  await post(token, '/organizations', 'organizations', { name: 'soak', email: 'soak@example.org' });
  const create = async (count: number, type: string): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1)
      ids.push((await post(token, `/organizations/soak/${type}`, type, { name: `soak-${i}` })).id);
    return ids;
  };
  return { token, teams: await create(TEAMS, 'teams'), workspaces: await create(WORKERS, 'workspaces') };
}

/** Returns the attributes for a value, which is a fixed level, or `custom` and three permissions. */
function attributesOf(value: string): Readonly<Record<string, string>> {
  const [access = '', runs, variables, stateVersions] = value.split(' ');
  if (runs === undefined || variables === undefined || stateVersions === undefined) return { access };
  return { access, runs, variables, 'state-versions': stateVersions };
}

function accessValue({ attributes }: ResourceObject): string {
  const { access, runs, variables } = attributes;
  return access === 'custom' ? `custom ${runs} ${variables} ${attributes['state-versions']}` : String(access);
}

const pick = (values: readonly string[], n: number): string => values[n % values.length] ?? '';
const observe = (row: ResourceObject): Observation => ({ value: accessValue(row), id: row.id });
const relatedId = (row: ResourceObject, name: string): string =>
  (row.relationships[name]?.data as { readonly id: string } | undefined)?.id ?? '';
const keyOf = (row: ResourceObject): string => `${relatedId(row, 'workspace')} ${relatedId(row, 'team')}`;

/** Team access rows. The key is a workspace ID and a team ID; the value is the granted access. */
export function teamAccessRows({ token, teams, workspaces }: TeamAccessOrganization): ResourceKind {
  const request = (method: ApiRequest['method'], path: string, body?: unknown): ApiRequest =>
    teamAccessRequest(token, method, path, body);
  const create = (key: string, attributes: Readonly<Record<string, string>>): ApiRequest => {
    const [workspace = '', team = ''] = key.split(' ');
    const relationships = { workspace: toOne('workspaces', workspace), team: toOne('teams', team) };
    return request('POST', PATH, resource('team-workspaces', attributes, relationships));
  };
  return {
    name: 'team access row',
    cluster: 'a',
    workers: WORKERS,
    keysPerWorker: TEAMS,
    supportsBlockingQueries: false,
    putReturnsResource: true,
    key: (worker, slot) => `${workspaces[worker]} ${teams[slot]}`,
    value: (n) =>
      n % 4 === 3
        ? pick(FIXED_LEVELS, Math.floor(n / 4))
        : `custom ${pick(RUNS, n)} ${pick(VARIABLES, Math.floor(n / 3))} ${pick(STATE_VERSIONS, Math.floor(n / 9))}`,
    put: (key, value, id) =>
      id === undefined
        ? create(key, attributesOf(value))
        : request('PATCH', `${PATH}/${id}`, resource('team-workspaces', attributesOf(value))),
    delete: (_key, id) => request('DELETE', `${PATH}/${id}`),
    read: (_key, id) => (id === undefined ? undefined : request('GET', `${PATH}/${id}`)),
    parseRead: (response) =>
      response.status === 404 ? { value: ABSENT } : observe(response.json<JsonApiDocument>().data),
    list: (worker) => request('GET', `${PATH}?filter[workspace][id]=${workspaces[worker]}`),
    parseList: (response) =>
      byKey(response.json<JsonApiDocument<ResourceObject[]>>().data.map((row) => [keyOf(row), observe(row)] as const)),
    invalidRequests: (key) => [
      { request: create(key, { access: 'everything' }), status: 422 },
      { request: create(key, { access: 'read', runs: 'apply' }), status: 422 },
      {
        request: teamAccessRequest('nobody', 'POST', PATH, resource('team-workspaces', { access: 'admin' })),
        status: 401,
      },
    ],
  };
}
