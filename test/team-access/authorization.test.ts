/**
 * Sends a request to every endpoint of team access as every kind of caller [AUTHZ-84]. An endpoint that requires a
 * token and has no entry in ENDPOINT_PERMISSIONS fails the first test. Bodies of writes are invalid, or `If-Match` does
 * not match, so that an authorized write is rejected after the authorization and changes nothing.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi, startApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import { ENDPOINT_PERMISSIONS, type EndpointPermission } from '../support/team-access/endpoint-permissions.ts';
import { OPERATIONS_TYPE } from '../support/team-access/operations.ts';
import {
  CALLERS,
  type CallerName,
  createOrganizationFixture,
  type OrganizationFixture,
  UNAUTHENTICATED,
} from '../support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  NOT_FOUND,
  request,
  resource,
  statusAndText,
} from '../support/team-access/team-access.ts';

/** See team-workspaces-authorization.test.ts. */
const TESTED_ELSEWHERE = /\/(team-workspaces|effective-access|access-matrix)\b/;

/** Invalid query parameters and the status of the response. */
const INVALID_QUERIES = [
  ['include=zzz', 400],
  ['page[size]=0', 422],
  ['dry-run=perhaps', 400],
] as const;

test('ENDPOINT_PERMISSIONS contains exactly the endpoints that require a token', async () => {
  await using api = await startApi();
  const guarded = api.server.endpoints
    .filter(({ open, path }) => open !== true && path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`)
    .filter((endpoint) => !TESTED_ELSEWHERE.test(endpoint));
  assert.deepEqual([...new Set(ENDPOINT_PERMISSIONS.map(({ endpoint }) => endpoint))].toSorted(), guarded.toSorted());
});

describe('team access', () => {
  const api = sharedApi();
  let fixture: Promise<OrganizationFixture> | undefined;
  const sharedFixture = (): Promise<OrganizationFixture> => {
    fixture ??= createOrganizationFixture(api()).then(async (acme) => {
      const body = resource('organizations', { name: 'beta', email: 'b@example.org' });
      documentOf(await request(acme.api, acme.tokens.owner, 'POST', '/organizations', { body }));
      return acme;
    });
    return fixture;
  };

  // Verifies [AUTHZ-2] [AUTHZ-3] [AUTHZ-4] [AUTHZ-5] [AUTHZ-6] [AUTHZ-9] [AUTHZ-19] [AUTHZ-21] [AUTHZ-45] [AUTHZ-46].
  // Verifies [AUTHZ-47] [AUTHZ-50] [AUTHZ-55] [AUTHZ-57] [AUTHZ-73] [AUTHZ-74] [AUTHZ-78].
  for (const permission of ENDPOINT_PERMISSIONS) {
    const { endpoint, path, target, allowed, body, headers } = permission;
    test(`${endpoint}${target === undefined ? '' : `, ${target}`}: ${allowed.join(', ')}`, async () => {
      const acme = await sharedFixture();
      for (const caller of CALLERS) {
        const at = typeof path === 'string' ? path : await path(acme);
        const options = { ...(body !== undefined && { body }), ...(headers !== undefined && { headers }) };
        const answer = await request(acme.api, acme.tokens[caller], endpoint.split(' ')[0] ?? '', at, options);
        assertAnswer(answer, caller, permission);
      }
    });
  }

  test('endpoints that describe If-Match check it, and all other writes reject it [DOC-18] [DOC-19]', async () => {
    const acme = await sharedFixture();
    const checked = new Set<string>();
    for (const { endpoint, path, body, headers = {}, allowed } of ENDPOINT_PERMISSIONS) {
      const [method = '', pattern = ''] = endpoint.split(' ');
      if (method === 'GET') continue;
      const at = typeof path === 'string' ? path : await path(acme);
      // A body without changes, so that only If-Match can cause the rejection.
      const harmless = method === 'PATCH' ? resource((body as ReturnType<typeof resource>).data.type, {}) : body;
      const options = { body: harmless, headers: { ...headers, 'if-match': '"never"' } };
      const answer = await request(acme.api, acme.tokens[allowed[0] ?? 'no-token'], method, at, options);
      if (takesIfMatch(acme, method, `/api/v2${pattern}`)) {
        assert.ok([403, 404, 412].includes(answer.status), `${endpoint}: ${answer.text}`);
        if (answer.status === 412) checked.add(endpoint);
      } else {
        assert.equal(answer.status, 400, `${endpoint}: ${answer.text}`);
        assert.match(String(errorsOf(answer)[0]?.['detail']), /^If-Match is not supported here/, endpoint);
      }
    }
    const described = acme.api.server.endpoints
      .filter(({ method, path }) => takesIfMatch(acme, method, path) && !TESTED_ELSEWHERE.test(path))
      .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`);
    assert.deepEqual([...checked].toSorted(), described.toSorted());
  });

  test('an invalid query parameter is reported before a missing resource [TEAM-27]', async () => {
    const acme = await sharedFixture();
    let requestCount = 0;
    for (const { method, path, query = [] } of acme.api.server.endpoints) {
      if (!path.startsWith('/api/v2/')) continue;
      const nowhere = path.slice('/api/v2'.length).replaceAll(/:\w+/g, 'nowhere');
      const filters = query.filter(({ name }) => name.startsWith('filter[')).map(({ name }) => `&${name}=nowhere`);
      const faulty = query.flatMap(({ name }) => INVALID_QUERIES.filter(([fault]) => fault.startsWith(`${name}=`)));
      for (const [fault, status] of faulty) {
        requestCount += 1;
        const headers = path.endsWith('/operations') ? { 'content-type': OPERATIONS_TYPE } : {};
        const at = `${nowhere}?${fault}${filters.join('')}`;
        const answer = await request(acme.api, acme.tokens.outsider, method, at, { headers });
        assert.equal(answer.status, status, `${method} ${at}: ${answer.text}`);
      }
    }
    assert.ok(requestCount > 15, `${requestCount} requests`);
  });
});

function assertAnswer(
  answer: Answer,
  caller: CallerName,
  { allowed, refused = [], status = 200 }: EndpointPermission,
): void {
  if (UNAUTHENTICATED.some((one) => one === caller)) {
    assert.deepEqual(statusAndText(answer), [401, '{"errors":[{"status":"401","title":"unauthorized"}]}'], caller);
  } else if (allowed.includes(caller)) {
    assert.equal(answer.status, status, `${caller}: ${answer.text}`);
  } else if (refused.includes(caller)) {
    // A refusal of more than the caller has names the reason [AUTHZ-44].
    assert.equal(answer.status, 403, `${caller}: ${answer.text}`);
    assert.match(String(errorsOf(answer)[0]?.['detail']), /you do not have/, caller);
  } else {
    assert.deepEqual(statusAndText(answer), NOT_FOUND, caller);
  }
}

/** Whether the endpoint declares the header `If-Match`. */
const takesIfMatch = ({ api }: OrganizationFixture, method: string, path: string): boolean =>
  api.server.endpoints.some(
    (endpoint) =>
      endpoint.method === method &&
      endpoint.path === path &&
      endpoint.headers?.some(({ name }) => name === 'If-Match') === true,
  );
