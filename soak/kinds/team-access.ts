import type { Answer } from '../../test/support/process/server.ts';
import {
  MEDIA_TYPE,
  resource,
  type Shown,
  type ShownDocument,
  to,
} from '../../test/support/team-access/team-access.ts';
import type { Ask } from '../client.ts';
import { ABSENT } from '../known.ts';
import { gather, type Kind, type Seen } from './kind.ts';

/** Whose rows they are. */
export interface TeamAccessWorld {
  /** The token of an owner. */
  readonly token: string;
  /** Ids; each worker has a workspace, and each team can have a row there. */
  readonly teams: readonly string[];
  readonly workspaces: readonly string[];
}

const WORKERS = 2;
const TEAMS = 8;
const PATH = '/api/v2/team-workspaces';
const FIXED = ['read', 'plan', 'write', 'admin'] as const;
const RUNS = ['read', 'plan', 'apply'] as const;
const VARIABLES = ['none', 'read', 'write'] as const;
const STATE_VERSIONS = ['none', 'read-outputs', 'read', 'write'] as const;

/** A request of the holder of `token`. */
const asking = (token: string, method: Ask['method'], path: string, body?: unknown): Ask => ({
  method,
  path,
  body,
  token: null,
  headers: { authorization: `Bearer ${token}`, ...(method !== 'GET' && { 'content-type': MEDIA_TYPE }) },
});

/** Makes the organization that the rows are in; `request` is sent to any server and must succeed. */
export async function makeTeamAccessWorld(
  admin: string,
  request: (ask: Ask) => Promise<Answer>,
): Promise<TeamAccessWorld> {
  const post = async (token: string, path: string, type: string, attributes: object): Promise<Shown> => {
    const answer = await request(asking(token, 'POST', `/api/v2${path}`, resource(type, { ...attributes })));
    return answer.json<ShownDocument>().data;
  };
  const user = await post(admin, '/admin/users', 'users', { username: 'soak', email: 'soak@example.org' });
  const token = String(user.attributes['token']);
  await post(token, '/organizations', 'organizations', { name: 'soak', email: 'soak@example.org' });
  const ids = async (count: number, type: string): Promise<string[]> => {
    const made: string[] = [];
    for (let at = 0; at < count; at += 1)
      made.push((await post(token, `/organizations/soak/${type}`, type, { name: `soak-${at}` })).id);
    return made;
  };
  return { token, teams: await ids(TEAMS, 'teams'), workspaces: await ids(WORKERS, 'workspaces') };
}

/** The attributes of a value: a fixed level, or `custom` and three attributes. */
function attributesOf(value: string): Readonly<Record<string, string>> {
  const [access = '', runs, variables, stateVersions] = value.split(' ');
  if (runs === undefined || variables === undefined || stateVersions === undefined) return { access };
  return { access, runs, variables, 'state-versions': stateVersions };
}

function accessOf({ attributes }: Shown): string {
  const { access, runs, variables } = attributes;
  return access === 'custom' ? `custom ${runs} ${variables} ${attributes['state-versions']}` : String(access);
}

const of = (values: readonly string[], at: number): string => values[at % values.length] ?? '';
const seenOf = (shown: Shown): Seen => ({ value: accessOf(shown), id: shown.id });
const related = (shown: Shown, name: string): string =>
  (shown.relationships[name]?.data as { readonly id: string } | undefined)?.id ?? '';

/** The rows that join teams and workspaces; their value is the access that they give. */
export function teamAccessRows({ token, teams, workspaces }: TeamAccessWorld): Kind {
  const create = (key: string, attributes: Readonly<Record<string, string>>): Ask => {
    const [workspace = '', team = ''] = key.split(' ');
    const relationships = { workspace: to('workspaces', workspace), team: to('teams', team) };
    return asking(token, 'POST', PATH, resource('team-workspaces', attributes, relationships));
  };
  return {
    name: 'team access row',
    cluster: 'a',
    workers: WORKERS,
    keysPerWorker: TEAMS,
    waits: false,
    putShows: true,
    key: (worker, at) => `${workspaces[worker]} ${teams[at]}`,
    value: (turn) =>
      turn % 4 === 3
        ? of(FIXED, Math.floor(turn / 4))
        : `custom ${of(RUNS, turn)} ${of(VARIABLES, Math.floor(turn / 3))} ${of(STATE_VERSIONS, Math.floor(turn / 9))}`,
    put: (key, value, id) =>
      id === undefined
        ? create(key, attributesOf(value))
        : asking(token, 'PATCH', `${PATH}/${id}`, resource('team-workspaces', attributesOf(value))),
    remove: (_key, id) => asking(token, 'DELETE', `${PATH}/${id}`),
    read: (_key, id) => (id === undefined ? undefined : asking(token, 'GET', `${PATH}/${id}`)),
    readOne: (answer) => (answer.status === 404 ? { value: ABSENT } : seenOf(answer.json<ShownDocument>().data)),
    list: (worker) => asking(token, 'GET', `${PATH}?filter[workspace][id]=${workspaces[worker]}`),
    readList: (answer) =>
      gather(
        answer
          .json<ShownDocument<Shown[]>>()
          .data.map((shown) => [`${related(shown, 'workspace')} ${related(shown, 'team')}`, seenOf(shown)] as const),
      ),
    refused: (key) => [
      { ask: create(key, { access: 'everything' }), status: 422 },
      { ask: create(key, { access: 'read', runs: 'apply' }), status: 422 },
      { ask: asking('nobody', 'POST', PATH, resource('team-workspaces', { access: 'admin' })), status: 401 },
    ],
  };
}
