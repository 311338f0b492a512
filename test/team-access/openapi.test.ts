/**
 * Checks that the OpenAPI description of `/api/v2` is valid, has every endpoint and matches the server's responses
 * [TEAM-5]. An endpoint without a successful request below fails the last test.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type OpenApi, pathTemplate } from '../../src/http/openapi/openapi.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { assertConformsToOpenApi } from '../support/process/openapi-conformance.ts';
import { OPERATIONS_TYPE } from '../support/team-access/operations.ts';
import {
  createOrganizationFixture,
  join,
  makeUser,
  type OrganizationFixture,
} from '../support/team-access/organization-fixture.ts';
import {
  documentOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
  type TeamAccessRequest,
  toOne,
} from '../support/team-access/team-access.ts';

interface DescribedRequest extends TeamAccessRequest {
  /** The method and the pattern of the path, without `/api/v2`. */
  readonly endpoint: string;
  /** The path of the request, by default that of `endpoint`. Names in capitals are replaced with IDs. */
  readonly path?: string;
  /** The owner by default. */
  readonly caller?: 'owner' | 'site-admin';
  /** Any 2xx status by default. */
  readonly status?: number;
}

const TOKEN = { body: resource('authentication-tokens', { description: 'one', 'expired-at': '2999-01-01T00:00:00Z' }) };
const NAMED = '/organizations/acme/workspaces/production';

/** Sent in this order, because later requests use resources of earlier ones. */
const successfulRequests: readonly DescribedRequest[] = [
  { endpoint: 'GET /openapi.json' },
  { endpoint: 'GET /ping' },
  { endpoint: 'GET /account/details' },
  { endpoint: 'GET /admin/users', caller: 'site-admin' },
  {
    endpoint: 'POST /admin/users',
    caller: 'site-admin',
    body: resource('users', { username: 'ada', email: 'ada@example.org' }),
  },
  { endpoint: 'GET /users/:id', path: '/users/OWNER' },
  {
    endpoint: 'GET /organization/audit-trail',
    path: '/organization/audit-trail?filter[organization]=acme&since=2020-01-01T00:00:00Z',
  },
  { endpoint: 'GET /organizations', path: '/organizations?page[size]=1' },
  { endpoint: 'POST /organizations', body: resource('organizations', { name: 'other', email: 'o@example.org' }) },
  { endpoint: 'GET /organizations/:name', path: '/organizations/acme' },
  { endpoint: 'PATCH /organizations/:name', path: '/organizations/acme', body: resource('organizations', {}) },
  { endpoint: 'GET /organizations/:name/entitlement-set', path: '/organizations/acme/entitlement-set' },
  { endpoint: 'DELETE /organizations/:name', path: '/organizations/other' },
  { endpoint: 'GET /organizations/:name/projects', path: '/organizations/acme/projects' },
  { endpoint: 'GET /projects/:id', path: '/projects/PROJECT' },
  { endpoint: 'GET /organizations/:name/teams', path: '/organizations/acme/teams?include=users' },
  {
    endpoint: 'POST /organizations/:name/teams',
    path: '/organizations/acme/teams',
    body: resource('teams', { name: 'new', 'organization-access': { 'manage-teams': true } }),
  },
  { endpoint: 'GET /teams/:id', path: '/teams/SECRET?include=users,organization-memberships' },
  { endpoint: 'PATCH /teams/:id', path: '/teams/SECRET', body: resource('teams', { description: 'x' }) },
  ...(['POST', 'DELETE'] as const).flatMap((method) => [
    {
      endpoint: `${method} /teams/:id/relationships/users`,
      path: '/teams/SECRET/relationships/users',
      body: { data: [{ type: 'users', id: 'new' }] },
    },
    {
      endpoint: `${method} /teams/:id/relationships/organization-memberships`,
      path: '/teams/SECRET/relationships/organization-memberships',
      body: { data: [{ type: 'organization-memberships', id: 'MEMBERSHIP' }] },
    },
  ]),
  { endpoint: 'POST /teams/:id/authentication-token', path: '/teams/SECRET/authentication-token' },
  { endpoint: 'GET /teams/:id/authentication-token', path: '/teams/SECRET/authentication-token' },
  { endpoint: 'DELETE /teams/:id/authentication-token', path: '/teams/SECRET/authentication-token' },
  { endpoint: 'POST /teams/:id/authentication-tokens', path: '/teams/SECRET/authentication-tokens', ...TOKEN },
  { endpoint: 'GET /teams/:id/authentication-tokens', path: '/teams/SECRET/authentication-tokens' },
  { endpoint: 'GET /organizations/:name/team-tokens', path: '/organizations/acme/team-tokens' },
  ...(['POST', 'GET', 'DELETE'] as const).map((method) => ({
    endpoint: `${method} /organizations/:name/authentication-token`,
    path: '/organizations/acme/authentication-token',
  })),
  { endpoint: 'POST /users/:id/authentication-tokens', path: '/users/OWNER/authentication-tokens', ...TOKEN },
  { endpoint: 'GET /users/:id/authentication-tokens', path: '/users/OWNER/authentication-tokens' },
  { endpoint: 'GET /authentication-tokens/:id', path: '/authentication-tokens/TOKEN' },
  { endpoint: 'DELETE /authentication-tokens/:id', path: '/authentication-tokens/TOKEN' },
  {
    endpoint: 'GET /organizations/:name/organization-memberships',
    path: '/organizations/acme/organization-memberships?include=user,teams',
  },
  {
    endpoint: 'POST /organizations/:name/organization-memberships',
    path: '/organizations/acme/organization-memberships',
    body: resource('organization-memberships', { email: 'invited@example.org' }),
  },
  { endpoint: 'GET /organization-memberships/:id', path: '/organization-memberships/MEMBERSHIP' },
  { endpoint: 'GET /organization-memberships', path: '/organization-memberships' },
  {
    endpoint: 'POST /organization-memberships/:id/actions/accept',
    path: '/organization-memberships/OWNMEMBERSHIP/actions/accept',
  },
  { endpoint: 'DELETE /organization-memberships/:id', path: '/organization-memberships/MEMBERSHIP' },
  { endpoint: 'GET /organizations/:name/workspaces', path: '/organizations/acme/workspaces' },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    path: '/organizations/acme/workspaces',
    body: resource('workspaces', { name: 'new', 'setting-overwrites': { 'execution-mode': true } }),
  },
  { endpoint: 'GET /organizations/:name/workspaces/:workspace', path: NAMED },
  { endpoint: 'PATCH /organizations/:name/workspaces/:workspace', path: NAMED, body: resource('workspaces', {}) },
  { endpoint: 'GET /workspaces/:id', path: '/workspaces/WORKSPACE' },
  {
    endpoint: 'PATCH /workspaces/:id',
    path: '/workspaces/WORKSPACE',
    body: resource('workspaces', { 'auto-apply': true }),
  },
  { endpoint: 'DELETE /organizations/:name/workspaces/:workspace', path: '/organizations/acme/workspaces/one' },
  {
    endpoint: 'POST /organizations/:name/workspaces/:workspace/actions/safe-delete',
    path: '/organizations/acme/workspaces/two/actions/safe-delete',
  },
  { endpoint: 'POST /workspaces/:id/actions/safe-delete', path: '/workspaces/THREE/actions/safe-delete' },
  ...(['?dry-run=true', ''] as const).flatMap((query): DescribedRequest[] => [
    {
      endpoint: 'PUT /workspaces/:id/team-access',
      path: `/workspaces/WORKSPACE/team-access${query}`,
      body: {
        data: [
          resource('team-workspaces', { access: 'custom', runs: 'plan' }, { team: toOne('teams', 'SECRET') }).data,
          resource('team-workspaces', { access: 'write', 'team-name': 'new' }).data,
        ],
      },
    },
    {
      endpoint: 'POST /operations',
      path: `/operations${query}`,
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
              relationships: { organization: toOne('organizations', 'acme') },
            },
          },
          { op: 'add', ref: { type: 'teams', lid: 'l', relationship: 'users' }, data: [] },
          { op: 'remove', ref: { type: 'teams', lid: 'l' } },
        ],
      },
    },
  ]),
  { endpoint: 'DELETE /teams/:id', path: '/teams/SECRET' },
  ...(['suspend', 'unsuspend'] as const).map((action) => ({
    endpoint: `POST /admin/users/:id/actions/${action}`,
    path: `/admin/users/NEW/actions/${action}`,
    caller: 'site-admin' as const,
  })),
  {
    endpoint: 'GET /admin/users/:id/authentication-tokens',
    path: '/admin/users/OWNER/authentication-tokens',
    caller: 'site-admin',
  },
  {
    endpoint: 'DELETE /admin/users/:id/authentication-tokens/:token',
    path: '/admin/users/OWNER/authentication-tokens/CREATED',
    caller: 'site-admin',
  },
  {
    endpoint: 'DELETE /admin/users/:id/authentication-tokens',
    path: '/admin/users/NEW/authentication-tokens',
    caller: 'site-admin',
  },
  { endpoint: 'GET /admin/organizations', caller: 'site-admin' },
  { endpoint: 'GET /admin/organizations/:name', path: '/admin/organizations/spare', caller: 'site-admin' },
  {
    endpoint: 'POST /admin/organizations/:name/actions/take-ownership',
    path: '/admin/organizations/spare/actions/take-ownership',
    caller: 'site-admin',
  },
  { endpoint: 'DELETE /admin/organizations/:name', path: '/admin/organizations/spare', caller: 'site-admin' },
  { endpoint: 'DELETE /admin/users/:id', path: '/admin/users/NEW', caller: 'site-admin' },
  { endpoint: 'DELETE /workspaces/:id', path: '/workspaces/WORKSPACE' },
];

const rejectedRequests: readonly DescribedRequest[] = [
  { endpoint: 'GET /organizations/:name', path: '/organizations/nowhere', status: 404 },
  { endpoint: 'GET /organizations', path: '/organizations?page[size]=0', status: 422 },
  { endpoint: 'GET /organization/audit-trail', status: 422 },
  { endpoint: 'GET /organizations', headers: { accept: 'text/html' }, status: 406 },
  { endpoint: 'GET /organizations', headers: { authorization: 'Bearer x' }, status: 401 },
  { endpoint: 'GET /organizations', path: '/organizations?token=x', status: 400 },
  { endpoint: 'GET /organizations/:name/teams', path: '/organizations/acme/teams?include=x', status: 400 },
  { endpoint: 'POST /organizations', body: '{', status: 422 },
  { endpoint: 'POST /organizations', body: resource('organizations', {}), status: 422 },
  { endpoint: 'POST /organizations', headers: { 'content-type': 'text/plain' }, status: 415 },
  { endpoint: 'POST /organizations', body: 'x'.repeat(2 * 1024 * 1024), status: 413 },
  { endpoint: 'DELETE /organizations/:name', path: '/organizations/acme', headers: { 'if-match': '"x"' }, status: 412 },
  { endpoint: 'DELETE /teams/:id', path: '/teams/OWNERS', status: 403 },
  { endpoint: 'POST /operations', status: 415 },
  { endpoint: 'POST /operations', headers: { 'content-type': OPERATIONS_TYPE }, body: '{', status: 422 },
  {
    endpoint: 'PUT /workspaces/:id/team-access',
    path: '/workspaces/WORKSPACE/team-access?dry-run=1',
    body: { data: [] },
    status: 400,
  },
];

/** See team-workspaces-openapi.test.ts. */
const TESTED_ELSEWHERE = /\/(team-workspaces|effective-access|access-matrix)\b/;

let api: Api;
let fixture: OrganizationFixture;
let document: OpenApi;
const reached = new Set<string>();
/** The IDs that replace names in capitals. */
const ids: Record<string, string> = {};

const sendRequest = ({ endpoint, path: sentPath, caller = 'owner', body, headers = {} }: DescribedRequest) => {
  const [method = '', path = ''] = endpoint.split(' ');
  const filled = (text: string): string => text.replaceAll(/[A-Z]{3,}/g, (name) => ids[name] ?? name);
  const text = body === undefined || typeof body === 'string' ? body : filled(JSON.stringify(body));
  return request(api, fixture.tokens[caller], method, filled(sentPath ?? path), { body: text, headers });
};

before(async () => {
  api = await startApi({ rateLimit: 1_000 });
  document = (await request(api, null, 'GET', '/openapi.json')).json<OpenApi>();
  fixture = await createOrganizationFixture(api);
  const { secretTeam, ownersTeam, workspace, users } = fixture;
  ids['NEW'] = (await makeUser(api, 'new')).id;
  Object.assign(ids, { SECRET: secretTeam, OWNERS: ownersTeam, WORKSPACE: workspace, OWNER: users.owner?.id });
  ids['MEMBERSHIP'] = await join(api, fixture.tokens.owner ?? '', 'acme', 'new');
  const own = await request(api, fixture.tokens.owner, 'GET', '/organization-memberships');
  ids['OWNMEMBERSHIP'] = documentOf<ResourceObject[]>(own).data[0]?.id ?? '';
  await makeOrganization(api, fixture.tokens.owner ?? '', 'spare');
  const path = '/organizations/spare/authentication-token';
  ids['CREATED'] = documentOf(await request(api, fixture.tokens.owner, 'POST', path)).data.id;
  const projects = await request(api, fixture.tokens.owner, 'GET', '/organizations/acme/projects');
  ids['PROJECT'] = projects.json<{ data: { id: string }[] }>().data[0]?.id ?? '';
  for (const name of ['one', 'two', 'three']) {
    const body = resource('workspaces', { name });
    const made = await request(api, fixture.tokens.owner, 'POST', '/organizations/acme/workspaces', { body });
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

test('the description of /api/v2 contains exactly the endpoints of the server', () => {
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

describe('successful responses match the description:', () => {
  for (const step of successfulRequests) {
    test(`${step.endpoint} ${step.path ?? ''}`, async () => {
      const answer = await sendRequest(step);
      assert.ok(answer.status < 300, answer.text);
      assertConformsToOpenApi(document, step.endpoint.replace(' ', ' /api/v2'), answer);
      reached.add(step.endpoint);
      if (step.endpoint === 'POST /users/:id/authentication-tokens') {
        ids['TOKEN'] = answer.json<{ data: { id: string } }>().data.id;
      }
    });
  }
});

describe('error responses match the description:', () => {
  for (const step of rejectedRequests) {
    test(`${step.status} ${step.endpoint} ${step.path ?? ''}`, async () => {
      const answer = await sendRequest(step);
      assert.equal(answer.status, step.status, answer.text);
      assertConformsToOpenApi(document, step.endpoint.replace(' ', ' /api/v2'), answer);
    });
  }
});

test('every endpoint of team access had a successful request', () => {
  const wanted = api.server.endpoints
    .filter(({ path }) => path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`)
    .filter((endpoint) => !TESTED_ELSEWHERE.test(endpoint));
  assert.deepEqual([...reached].toSorted(), wanted.toSorted());
});
