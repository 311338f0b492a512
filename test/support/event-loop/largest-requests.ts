/**
 * The largest requests of every endpoint, generated from the API descriptions, so that a new endpoint is included. A new
 * parameter of a path needs a value here.
 */
import type { OpenApi } from '../../../src/http/openapi/openapi.ts';
import { OPERATIONS_TYPE } from '../team-access/operations.ts';
import { MEDIA_TYPE, resource, toOne } from '../team-access/team-access.ts';
import { LARGEST, type LargestSize } from './largest-state.ts';

export interface LargestRequest {
  /** The endpoint and what is large. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly by: 'acl-token' | 'owner' | 'member';
  readonly body?: Buffer;
  readonly contentType?: string;
}

/** The default of `limits.body`, less some bytes. */
const BODY_BYTES = 1024 * 1024 - 1_000;
/** The default of `limits.bulk-body`, less some bytes. */
const BULK_BODY_BYTES = 16 * 1024 * 1024 - 1_000;

/** The lines of a configuration entry up to which [SRV-124] gives a bound. */
const ENTRY_LINES = 6_000;

interface Operation {
  readonly parameters?: readonly { readonly name?: string; readonly in?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

/** Returns requests that read, or that the server refuses, for all endpoints. They change nothing. */
export function readsAndRefusals(v1: OpenApi, v2: OpenApi): LargestRequest[] {
  return [...requestsOf(v1, ['acl-token']), ...requestsOf(v2, ['owner', 'member'])];
}

function requestsOf(api: OpenApi, callers: readonly LargestRequest['by'][]): LargestRequest[] {
  const bulk = refusedBodies(BULK_BODY_BYTES);
  const other = refusedBodies(BODY_BYTES);
  return Object.entries(api.paths).flatMap(([template, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const bodies = /operations$|team-access$/.test(template) ? bulk : other;
      const requests = requestsOfOperation(method.toUpperCase(), template, operation as Operation, bodies);
      return callers.flatMap((by) => requests.map((one) => ({ ...one, name: `${one.name} (${by})`, by })));
    }),
  );
}

function requestsOfOperation(
  method: string,
  template: string,
  { parameters = [], requestBody }: Operation,
  bodies: readonly (readonly [what: string, body: Buffer])[],
): Omit<LargestRequest, 'by'>[] {
  const path = withParameters(template);
  if (method === 'GET') {
    return queriesOf(parameters).map((query) => ({ name: `GET ${template} ${query}`, method, path: path + query }));
  }
  // A request without a body would take effect.
  if (requestBody === undefined) return [];
  const contentType = Object.keys(requestBody.content)[0] ?? '';
  return bodies.map(([what, body]) => ({
    name: `${method} ${template} with ${what}`,
    method,
    path,
    body,
    contentType,
  }));
}

/** Values of path parameters, by the segment before them and their name. */
const PATH_VALUES: Readonly<Record<string, string>> = {
  'token/accessor': '00000000-0000-4000-8000-000000000001',
  'partition/name': 'default',
  'peering/name': LARGEST.peer,
  'service/name': 'service-1',
  'node/name': 'node-0',
  'state/state': 'any',
  'config/kind': 'exported-services',
  'kind/name': 'default',
  'deregister/id': 'nothing',
  'pass/id': 'nothing',
  'warn/id': 'nothing',
  'fail/id': 'nothing',
  'organizations/name': LARGEST.organization,
  'workspaces/workspace': 'workspace-0',
  'teams/id': LARGEST.team,
  'workspaces/id': LARGEST.workspace,
  'projects/id': 'prj-nothing',
  'organization-memberships/id': LARGEST.membership,
  'users/id': LARGEST.user,
  'authentication-tokens/id': 'at-nothing',
  'authentication-tokens/token': 'at-nothing',
  'team-workspaces/id': LARGEST.row,
};

function withParameters(template: string): string {
  let previous = '';
  return template
    .split('/')
    .map((segment) => {
      const name = /^\{(.*)\}$/.exec(segment)?.[1];
      const key = `${previous}/${name}`;
      previous = name ?? segment;
      if (name === undefined) return segment;
      const value = PATH_VALUES[key];
      if (value === undefined) throw new Error(`PATH_VALUES needs a value for '${key}' of ${template}`);
      return value;
    })
    .join('/');
}

const REQUIRED_QUERY: Readonly<Record<string, string>> = {
  by: 'destination',
  name: 'service-1',
  source: 'service-1',
  destination: 'service-2',
  'filter[workspace][id]': LARGEST.workspace,
  'filter[organization]': LARGEST.organization,
};

/** Values of other parameters that select or include much. Parameters that only wait are left out. */
const QUERY_VALUES: Readonly<Record<string, readonly string[]>> = {
  'page[size]': ['100'],
  'page[number]': ['100'],
  q: ['nothing-matches', 'e'],
  'search[name]': ['nothing-matches', '9'],
  'filter[names]': [Array.from({ length: 1_500 }, (_, i) => `t-${i}`).join()],
  'filter[email]': [Array.from({ length: 800 }, (_, i) => `u-${i}@a.b`).join()],
  'filter[status]': ['active', 'invited'],
  include: [
    'users',
    'teams',
    'user',
    'team',
    'workspace',
    'organization-memberships',
    'users,organization-memberships',
  ],
  limit: ['1000000'],
  pretty: [''],
  filter: ['Node matches `.*z.*`', 'not (Name == a)', '1 in Tags'],
  'node-meta': ['a:b'],
  'name-prefix': ['z'],
  'filter[user]': [LARGEST.user],
  'filter[team]': [LARGEST.team],
  'filter[team][id]': [LARGEST.team],
  passing: [''],
  peer: [LARGEST.peer],
  failover: [LARGEST.peer],
};

function queriesOf(parameters: NonNullable<Operation['parameters']>): string[] {
  const names = parameters.filter((one) => one.in === 'query').map(({ name = '' }) => name);
  const required = names.filter((name) => REQUIRED_QUERY[name] !== undefined);
  const fixed = required.map((name) => [name, REQUIRED_QUERY[name] ?? ''] as const);
  const paged = names.includes('page[size]');
  const queries: (readonly (readonly [string, string])[])[] = [fixed];
  if (paged) queries.push([...fixed, ['page[size]', '100']]);
  for (const name of names) {
    for (const value of QUERY_VALUES[name] ?? []) {
      const size = paged && name !== 'page[size]' ? [['page[size]', '100'] as const] : [];
      queries.push([...fixed, ...size, [name, value]]);
    }
  }
  return queries.map((pairs) => {
    const text = new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString();
    return text === '' ? '' : `?${text}`;
  });
}

const filled = (start: string, item: string, end: string, bytes = BODY_BYTES): Buffer => {
  const count = Math.floor((bytes - start.length - end.length) / (item.length + 1));
  return Buffer.from(start + Array.from({ length: count }, () => item).join() + end);
};

/** Returns bodies that every endpoint refuses or ignores, each expensive for a different step. */
function refusedBodies(bytes: number): (readonly [string, Buffer])[] {
  const fields = Array.from({ length: Math.floor(bytes / 12) }, (_, i) => `"${i.toString(36)}":0`).join();
  return [
    ['a list of empty objects', filled('{"data":[', '{}', ']}', bytes)],
    ['grants that are empty objects', filled('{"Grants":[', '{}', ']}', bytes)],
    ['services that are empty objects', filled('{"Kind":"exported-services","Services":[', '{}', ']}', bytes)],
    ['checks that are empty objects', filled('{"Checks":[', '{}', ']}', bytes)],
    ['operations that are numbers', filled('{"atomic:operations":[', '1', ']}', bytes)],
    ['many attributes', Buffer.from(`{"data":{"attributes":{${fields}}}}`)],
    ['many fields', Buffer.from(`{${fields}}`)],
    ['deep nesting', Buffer.from('['.repeat(bytes))],
    ['spaces', Buffer.from(`${' '.repeat(bytes - 2)}{}`)],
    ['a long text', Buffer.from(`{"data":"${'x'.repeat(bytes - 20)}"}`)],
    ['a long number', Buffer.from(`{"data":${'1'.repeat(bytes - 20)}}`)],
  ];
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const ids = (type: string, values: readonly string[]) => json({ data: values.map((id) => ({ type, id })) });

/** Returns the largest requests that change something, in an order in which each takes effect. */
export function largestWrites(size: LargestSize): LargestRequest[] {
  const items = Math.min(10_000, size.teams);
  const operations = (name: string, all: readonly unknown[], query = ''): LargestRequest => ({
    name: `POST /api/v2/operations${query}: ${name}`,
    method: 'POST',
    path: `/api/v2/operations${query}`,
    by: 'owner',
    body: json({ 'atomic:operations': all }),
    contentType: OPERATIONS_TYPE,
  });
  const v2 = (
    name: string,
    method: string,
    path: string,
    body?: Buffer,
    by: LargestRequest['by'] = 'owner',
  ): LargestRequest => ({
    name: `${method} /api/v2${path}: ${name}`,
    method,
    path: `/api/v2${path}`,
    by,
    ...(body !== undefined && { body, contentType: MEDIA_TYPE }),
  });
  const v1 = (name: string, method: string, path: string, body: unknown): LargestRequest => ({
    name: `${method} ${path}: ${name}`,
    method,
    path,
    by: 'acl-token',
    body: json(body),
  });
  const usernames = list(Math.min(10_000, size.users), (i) => `user-${i}`);
  const addRows = list(items, (i) => ({
    op: 'add',
    data: resource(
      'team-workspaces',
      { access: 'custom', runs: 'plan' },
      {
        team: toOne('teams', LARGEST.teamOfRow(size, i)),
        workspace: toOne('workspaces', `ws-${'1'.padStart(16, '0')}`),
      },
    ).data,
  }));
  const addTeams = list(items, (i) => ({
    op: 'add',
    data: resource('teams', { name: `new-${i}` }, { organization: toOne('organizations', LARGEST.organization) }).data,
  }));
  const addMembers = {
    op: 'add',
    ref: { type: 'teams', id: LARGEST.teamOfRow(size, 1), relationship: 'users' },
    data: usernames.map((id) => ({ type: 'users', id })),
  };
  const rows = list(
    items,
    (i) => resource('team-workspaces', { access: 'custom', runs: 'plan', 'team-name': `team-${i}` }).data,
  );
  const set = `/workspaces/${LARGEST.workspace}/team-access`;
  const allTeams = {
    teams: { data: list(items, (i) => ({ type: 'teams', id: LARGEST.teamOfRow({ ...size, rowsOn: () => 0 }, i) })) },
  };
  const join = (by: LargestRequest['by']) =>
    v2(
      'a member of every team',
      'POST',
      `/organizations/${LARGEST.organization}/organization-memberships`,
      json(resource('organization-memberships', { email: `new-${by}@example.org` }, allTeams)),
      by,
    );
  return [
    operations('rows', addRows.slice(0, 5_000), '?dry-run=true'),
    operations('teams', addTeams, '?dry-run=true'),
    operations('teams', addTeams),
    operations('members', [addMembers]),
    operations('members and an error', [addMembers, { op: 'remove', ref: { type: 'teams', id: 'team-none' } }]),
    v2('every team, dry run', 'PUT', `${set}?dry-run=true`, json({ data: rows })),
    v2('every team', 'PUT', set, json({ data: rows })),
    join('owner'),
    join('member'),
    v2('all users', 'DELETE', `/teams/${LARGEST.team}/relationships/users`, ids('users', usernames)),
    v2('all users', 'POST', `/teams/${LARGEST.team}/relationships/users`, ids('users', usernames)),
    v1('the most names', 'PUT', '/v1/acl/token', {
      Grants: list(16, () => ({ Resource: 'services', Access: 'read', Names: list(128, (i) => `name-${i}`) })),
    }),
    v1('the most checks', 'PUT', '/v1/catalog/register', {
      Node: 'node-1',
      Address: '10.0.0.1',
      Service: { Service: 'service-1', Tags: list(64, (i) => `tag-${i}`) },
      Checks: list(64, (i) => ({
        Name: `check-${i}`,
        Status: 'passing',
        ServiceID: 'service-1',
        Output: 'x'.repeat(4_096),
      })),
    }),
    v1('the most services', 'PUT', '/v1/config', {
      Kind: 'exported-services',
      Name: 'default',
      Services: list(ENTRY_LINES, (i) => ({ Name: `service-${i}`, Consumers: [{ Peer: 'nobody' }] })),
    }),
    v1('the most sources', 'PUT', '/v1/config', {
      Kind: 'service-intentions',
      Name: 'service-1',
      Sources: list(ENTRY_LINES, (i) => ({ Name: `service-${i}`, Action: 'allow' })),
    }),
    v1('the most services', 'POST', '/v1/config/preview', {
      Kind: 'exported-services',
      Name: 'default',
      Services: list(ENTRY_LINES, (i) => ({ Name: `service-${i}`, Consumers: [{ Peer: 'somebody' }] })),
    }),
  ];
}

/** Returns the actions and removals of the resources with the most rows, in an order in which each takes effect. */
export function largestRemovals(): LargestRequest[] {
  const v2 = (method: string, path: string): LargestRequest => ({
    name: `${method} /api/v2${path}`,
    method,
    path: `/api/v2${path}`,
    by: 'owner',
    contentType: MEDIA_TYPE,
  });
  const v1 = (method: string, path: string, body?: object): LargestRequest => ({
    name: `${method} /v1${path} ${body === undefined ? '' : JSON.stringify(body)}`,
    method,
    path: `/v1${path}`,
    by: 'acl-token',
    ...(body !== undefined && { body: json(body), contentType: 'application/json' }),
  });
  return [
    v2('POST', `/admin/users/${LARGEST.user}/actions/suspend`),
    v2('POST', `/admin/users/${LARGEST.user}/actions/unsuspend`),
    v2('POST', `/admin/organizations/${LARGEST.organization}/actions/take-ownership`),
    v2('DELETE', `/admin/users/${LARGEST.user}/authentication-tokens`),
    v2('DELETE', `/organization-memberships/${LARGEST.membership}`),
    v2('DELETE', `/admin/users/${LARGEST.user}?revoke-created=true`),
    v2('DELETE', `/teams/${LARGEST.team}`),
    v2('DELETE', `/workspaces/${LARGEST.workspace}`),
    v2('DELETE', `/organizations/${LARGEST.organization}`),
    v1('PUT', '/catalog/deregister', { Node: 'node-0', CheckID: 'answers' }),
    v1('PUT', '/catalog/deregister', { Node: 'node-0' }),
    v1('DELETE', `/peering/${LARGEST.peer}`),
    v1('DELETE', '/config/exported-services/default'),
    v1('DELETE', '/config/service-intentions/service-1'),
    v1('DELETE', '/partition/nothing'),
  ];
}
