/**
 * The description of `/api/v2`: it is valid OpenAPI, it has every endpoint, and what the server really answers is what it
 * says. An endpoint that no call below has reached with success fails the last test.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type OpenApi, pathTemplate } from '../../src/http/openapi/openapi.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { assertDescribed } from '../support/process/described-answers.ts';
import { OPERATIONS_TYPE } from '../support/team-access/operations.ts';
import { request, resource, type TeamAccessRequest, to } from '../support/team-access/team-access.ts';
import { join, makeUser, makeWorld, type World } from '../support/team-access/team-access-world.ts';

interface Step extends TeamAccessRequest {
  /** Method and path with `:name`, without `/api/v2`. */
  readonly endpoint: string;
  /** What it is sent to if that differs; names in capitals stand for ids of the world. */
  readonly at?: string;
  /** Who asks, if not the owner. */
  readonly by?: 'owner' | 'site-admin';
  /** Any of success unless given. */
  readonly status?: number;
}

const TOKEN = { body: resource('authentication-tokens', { description: 'one', 'expired-at': '2999-01-01T00:00:00Z' }) };
const NAMED = '/organizations/acme/workspaces/production';

/** In order: the later ones find what the earlier ones have made. */
const steps: readonly Step[] = [
  { endpoint: 'GET /openapi.json' },
  { endpoint: 'GET /ping' },
  { endpoint: 'GET /account/details' },
  { endpoint: 'GET /admin/users', by: 'site-admin' },
  {
    endpoint: 'POST /admin/users',
    by: 'site-admin',
    body: resource('users', { username: 'ada', email: 'ada@example.org' }),
  },
  { endpoint: 'GET /users/:id', at: '/users/OWNER' },
  {
    endpoint: 'GET /organization/audit-trail',
    at: '/organization/audit-trail?filter[organization]=acme&since=2020-01-01T00:00:00Z',
  },
  { endpoint: 'GET /organizations', at: '/organizations?page[size]=1' },
  { endpoint: 'POST /organizations', body: resource('organizations', { name: 'other', email: 'o@example.org' }) },
  { endpoint: 'GET /organizations/:name', at: '/organizations/acme' },
  { endpoint: 'PATCH /organizations/:name', at: '/organizations/acme', body: resource('organizations', {}) },
  { endpoint: 'GET /organizations/:name/entitlement-set', at: '/organizations/acme/entitlement-set' },
  { endpoint: 'DELETE /organizations/:name', at: '/organizations/other' },
  { endpoint: 'GET /organizations/:name/projects', at: '/organizations/acme/projects' },
  { endpoint: 'GET /projects/:id', at: '/projects/PROJECT' },
  { endpoint: 'GET /organizations/:name/teams', at: '/organizations/acme/teams?include=users' },
  {
    endpoint: 'POST /organizations/:name/teams',
    at: '/organizations/acme/teams',
    body: resource('teams', { name: 'new', 'organization-access': { 'manage-teams': true } }),
  },
  { endpoint: 'GET /teams/:id', at: '/teams/SECRET?include=users,organization-memberships' },
  { endpoint: 'PATCH /teams/:id', at: '/teams/SECRET', body: resource('teams', { description: 'x' }) },
  ...(['POST', 'DELETE'] as const).flatMap((method) => [
    {
      endpoint: `${method} /teams/:id/relationships/users`,
      at: '/teams/SECRET/relationships/users',
      body: { data: [{ type: 'users', id: 'new' }] },
    },
    {
      endpoint: `${method} /teams/:id/relationships/organization-memberships`,
      at: '/teams/SECRET/relationships/organization-memberships',
      body: { data: [{ type: 'organization-memberships', id: 'MEMBERSHIP' }] },
    },
  ]),
  { endpoint: 'POST /teams/:id/authentication-token', at: '/teams/SECRET/authentication-token' },
  { endpoint: 'GET /teams/:id/authentication-token', at: '/teams/SECRET/authentication-token' },
  { endpoint: 'DELETE /teams/:id/authentication-token', at: '/teams/SECRET/authentication-token' },
  { endpoint: 'POST /teams/:id/authentication-tokens', at: '/teams/SECRET/authentication-tokens', ...TOKEN },
  { endpoint: 'GET /teams/:id/authentication-tokens', at: '/teams/SECRET/authentication-tokens' },
  { endpoint: 'GET /organizations/:name/team-tokens', at: '/organizations/acme/team-tokens' },
  ...(['POST', 'GET', 'DELETE'] as const).map((method) => ({
    endpoint: `${method} /organizations/:name/authentication-token`,
    at: '/organizations/acme/authentication-token',
  })),
  { endpoint: 'POST /users/:id/authentication-tokens', at: '/users/OWNER/authentication-tokens', ...TOKEN },
  { endpoint: 'GET /users/:id/authentication-tokens', at: '/users/OWNER/authentication-tokens' },
  { endpoint: 'GET /authentication-tokens/:id', at: '/authentication-tokens/TOKEN' },
  { endpoint: 'DELETE /authentication-tokens/:id', at: '/authentication-tokens/TOKEN' },
  {
    endpoint: 'GET /organizations/:name/organization-memberships',
    at: '/organizations/acme/organization-memberships?include=user,teams',
  },
  {
    endpoint: 'POST /organizations/:name/organization-memberships',
    at: '/organizations/acme/organization-memberships',
    body: resource('organization-memberships', { email: 'invited@example.org' }),
  },
  { endpoint: 'GET /organization-memberships/:id', at: '/organization-memberships/MEMBERSHIP' },
  { endpoint: 'DELETE /organization-memberships/:id', at: '/organization-memberships/MEMBERSHIP' },
  { endpoint: 'GET /organizations/:name/workspaces', at: '/organizations/acme/workspaces' },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    at: '/organizations/acme/workspaces',
    body: resource('workspaces', { name: 'new', 'setting-overwrites': { 'execution-mode': true } }),
  },
  { endpoint: 'GET /organizations/:name/workspaces/:workspace', at: NAMED },
  { endpoint: 'PATCH /organizations/:name/workspaces/:workspace', at: NAMED, body: resource('workspaces', {}) },
  { endpoint: 'GET /workspaces/:id', at: '/workspaces/WORKSPACE' },
  {
    endpoint: 'PATCH /workspaces/:id',
    at: '/workspaces/WORKSPACE',
    body: resource('workspaces', { 'auto-apply': true }),
  },
  { endpoint: 'DELETE /organizations/:name/workspaces/:workspace', at: '/organizations/acme/workspaces/one' },
  {
    endpoint: 'POST /organizations/:name/workspaces/:workspace/actions/safe-delete',
    at: '/organizations/acme/workspaces/two/actions/safe-delete',
  },
  { endpoint: 'POST /workspaces/:id/actions/safe-delete', at: '/workspaces/THREE/actions/safe-delete' },
  ...(['?dry-run=true', ''] as const).flatMap((query): Step[] => [
    {
      endpoint: 'PUT /workspaces/:id/team-access',
      at: `/workspaces/WORKSPACE/team-access${query}`,
      body: {
        data: [
          resource('team-workspaces', { access: 'custom', runs: 'plan' }, { team: to('teams', 'SECRET') }).data,
          resource('team-workspaces', { access: 'write', 'team-name': 'new' }).data,
        ],
      },
    },
    {
      endpoint: 'POST /operations',
      at: `/operations${query}`,
      headers: { 'content-type': OPERATIONS_TYPE },
      body: {
        'atomic:operations': [
          { op: 'update', ref: { type: 'teams', id: 'SECRET' }, data: { type: 'teams', attributes: {} } },
          {
            op: 'add',
            data: {
              type: 'teams',
              lid: 'l',
              attributes: { name: 'more' },
              relationships: { organization: to('organizations', 'acme') },
            },
          },
          { op: 'add', ref: { type: 'teams', lid: 'l', relationship: 'users' }, data: [] },
          { op: 'remove', ref: { type: 'teams', lid: 'l' } },
        ],
      },
    },
  ]),
  { endpoint: 'DELETE /teams/:id', at: '/teams/SECRET' },
  { endpoint: 'DELETE /admin/users/:id', at: '/admin/users/NEW', by: 'site-admin' },
  { endpoint: 'DELETE /workspaces/:id', at: '/workspaces/WORKSPACE' },
];

const refusals: readonly Step[] = [
  { endpoint: 'GET /organizations/:name', at: '/organizations/nowhere', status: 404 },
  { endpoint: 'GET /organizations', at: '/organizations?page[size]=0', status: 422 },
  { endpoint: 'GET /organization/audit-trail', status: 422 },
  { endpoint: 'GET /organizations', headers: { accept: 'text/html' }, status: 406 },
  { endpoint: 'GET /organizations', headers: { authorization: 'Bearer x' }, status: 401 },
  { endpoint: 'GET /organizations', at: '/organizations?token=x', status: 400 },
  { endpoint: 'GET /organizations/:name/teams', at: '/organizations/acme/teams?include=x', status: 400 },
  { endpoint: 'POST /organizations', body: '{', status: 422 },
  { endpoint: 'POST /organizations', body: resource('organizations', {}), status: 422 },
  { endpoint: 'POST /organizations', headers: { 'content-type': 'text/plain' }, status: 415 },
  { endpoint: 'POST /organizations', body: 'x'.repeat(2 * 1024 * 1024), status: 413 },
  { endpoint: 'DELETE /organizations/:name', at: '/organizations/acme', headers: { 'if-match': '"x"' }, status: 412 },
  { endpoint: 'DELETE /teams/:id', at: '/teams/OWNERS', status: 403 },
  { endpoint: 'POST /operations', status: 415 },
  { endpoint: 'POST /operations', headers: { 'content-type': OPERATIONS_TYPE }, body: '{', status: 422 },
  {
    endpoint: 'PUT /workspaces/:id/team-access',
    at: '/workspaces/WORKSPACE/team-access?dry-run=1',
    body: { data: [] },
    status: 400,
  },
];

/** Endpoints whose answers are held against the description elsewhere. */
const ELSEWHERE = /\/(team-workspaces|effective-access|access-matrix)\b/;

let api: Api;
let world: World;
let document: OpenApi;
const reached = new Set<string>();
/** What stands for the names in capitals. */
const ids: Record<string, string> = {};

const ask = ({ endpoint, at, by = 'owner', body, headers = {} }: Step) => {
  const [method = '', path = ''] = endpoint.split(' ');
  const filled = (text: string): string => text.replaceAll(/[A-Z]{3,}/g, (name) => ids[name] ?? name);
  const text = body === undefined || typeof body === 'string' ? body : filled(JSON.stringify(body));
  return request(api, world.tokens[by], method, filled(at ?? path), { body: text, headers });
};

before(async () => {
  api = await startApi({ rateLimit: 1_000 });
  document = (await request(api, null, 'GET', '/openapi.json')).json<OpenApi>();
  world = await makeWorld(api);
  const { secretTeam, ownersTeam, workspace, users } = world;
  ids['NEW'] = (await makeUser(api, 'new')).id;
  Object.assign(ids, { SECRET: secretTeam, OWNERS: ownersTeam, WORKSPACE: workspace, OWNER: users.owner?.id });
  ids['MEMBERSHIP'] = await join(api, world.tokens.owner ?? '', 'acme', 'new');
  const projects = await request(api, world.tokens.owner, 'GET', '/organizations/acme/projects');
  ids['PROJECT'] = projects.json<{ data: { id: string }[] }>().data[0]?.id ?? '';
  for (const name of ['one', 'two', 'three']) {
    const body = resource('workspaces', { name });
    const made = await request(api, world.tokens.owner, 'POST', '/organizations/acme/workspaces', { body });
    ids[name.toUpperCase()] = made.json<{ data: { id: string } }>().data.id;
  }
});
after(() => api[Symbol.asyncDispose]());

test('the description of /api/v2 is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as object as Record<string, unknown>,
  );
  assert.ok(valid, JSON.stringify(errors, null, 2));
});

test('the description of /api/v2 has every endpoint, and no other', () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = api.server.endpoints.filter(({ path }) => path.startsWith('/api/v2/'));
  assert.deepEqual(
    described.toSorted(),
    served.map(({ method, path }) => pathTemplate(`${method} ${path}`)).toSorted(),
  );
  const operations = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(operations).size, operations.length);
});

describe('answers of team access are as described:', () => {
  for (const step of steps) {
    test(`${step.endpoint} ${step.at ?? ''}`, async () => {
      const answer = await ask(step);
      assert.ok(answer.status < 300, answer.text);
      assertDescribed(document, step.endpoint.replace(' ', ' /api/v2'), answer);
      reached.add(step.endpoint);
      if (step.endpoint === 'POST /users/:id/authentication-tokens') {
        ids['TOKEN'] = answer.json<{ data: { id: string } }>().data.id;
      }
    });
  }
});

describe('refusals of team access are as described:', () => {
  for (const step of refusals) {
    test(`${step.status} ${step.endpoint} ${step.at ?? ''}`, async () => {
      const answer = await ask(step);
      assert.equal(answer.status, step.status, answer.text);
      assertDescribed(document, step.endpoint.replace(' ', ' /api/v2'), answer);
    });
  }
});

test('every endpoint of team access was asked with success', () => {
  const wanted = api.server.endpoints
    .filter(({ path }) => path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`)
    .filter((endpoint) => !ELSEWHERE.test(endpoint));
  assert.deepEqual([...reached].toSorted(), wanted.toSorted());
});
