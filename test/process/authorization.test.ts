/**
 * Authorization tests: every endpoint of `/v1` with every kind of caller. The first test fails if an endpoint that
 * needs a token has no row.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Api, type ApiSettings, startApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';

interface Row {
  /** Method and path pattern of the endpoint. */
  readonly endpoint: string;
  /** Path and query of a request that needs no other grants to succeed. */
  readonly path: string;
  readonly body?: unknown;
  /** The required grant, such as `acl:read@eu`, or `a token` if any token is sufficient. */
  readonly needs: string;
  /** A second required grant. Other tests cover it. */
  readonly also?: string;
  /** The status of an authorized request, if it is not 200. */
  readonly status?: number;
}

/** The accessor ID of no token. */
const MISSING = '00000000-0000-4000-8000-000000000000';

const rows: readonly Row[] = [
  { endpoint: 'GET /v1/acl/token/self', path: '/v1/acl/token/self', needs: 'a token' },
  { endpoint: 'PUT /v1/acl/token', path: '/v1/acl/token', body: { Partition: 'eu' }, needs: 'acl:write@eu' },
  {
    endpoint: 'GET /v1/acl/token/:accessor',
    path: `/v1/acl/token/${MISSING}?partition=eu`,
    needs: 'acl:read@eu',
    status: 404,
  },
  {
    endpoint: 'PUT /v1/acl/token/:accessor',
    path: `/v1/acl/token/${MISSING}?partition=eu`,
    body: {},
    needs: 'acl:write@eu',
    status: 404,
  },
  { endpoint: 'DELETE /v1/acl/token/:accessor', path: `/v1/acl/token/${MISSING}?partition=eu`, needs: 'acl:write@eu' },
  { endpoint: 'GET /v1/acl/tokens', path: '/v1/acl/tokens?partition=eu', needs: 'acl:read@eu' },
  { endpoint: 'GET /v1/acl/tokens', path: '/v1/acl/tokens?partition=*', needs: 'acl:read@any' },
  { endpoint: 'PUT /v1/partition/:name', path: '/v1/partition/eu', body: {}, needs: 'operator:write@eu' },
  { endpoint: 'PUT /v1/partition/:name', path: '/v1/partition/new', body: {}, needs: 'operator:write@*' },
  { endpoint: 'GET /v1/partition/:name', path: '/v1/partition/eu', needs: 'operator:read@eu' },
  { endpoint: 'GET /v1/partition/:name', path: '/v1/partition/nowhere', needs: 'operator:read@*', status: 404 },
  { endpoint: 'DELETE /v1/partition/:name', path: '/v1/partition/nowhere', needs: 'operator:write@*' },
  { endpoint: 'GET /v1/partitions', path: '/v1/partitions', needs: 'operator:read@any' },
  { endpoint: 'GET /v1/operator/export', path: '/v1/operator/export', needs: 'operator:write@*' },
  { endpoint: 'GET /v1/audit', path: '/v1/audit?partition=eu', needs: 'operator:read@eu' },
  { endpoint: 'GET /v1/audit', path: '/v1/audit', needs: 'operator:read@any' },
  {
    endpoint: 'POST /v1/peering/token',
    path: '/v1/peering/token',
    body: { PeerName: 'there', Partition: 'eu' },
    needs: 'peering:write@eu',
  },
  {
    endpoint: 'POST /v1/peering/establish',
    path: '/v1/peering/establish',
    body: { PeerName: 'east', Partition: 'eu', PeeringToken: 'not a token' },
    needs: 'peering:write@eu',
    status: 400,
  },
  { endpoint: 'GET /v1/peering/:name', path: '/v1/peering/east?partition=eu', needs: 'peering:read@eu', status: 404 },
  { endpoint: 'DELETE /v1/peering/:name', path: '/v1/peering/east?partition=eu', needs: 'peering:write@eu' },
  {
    endpoint: 'GET /v1/peering/:name/token',
    path: '/v1/peering/east/token?partition=eu',
    needs: 'peering:write@eu',
    status: 404,
  },
  {
    endpoint: 'DELETE /v1/peering/:name/token',
    path: '/v1/peering/east/token?partition=eu',
    needs: 'peering:write@eu',
  },
  ...['exported-services', 'imported-services'].map((what) => ({
    endpoint: `GET /v1/peering/:name/${what}`,
    path: `/v1/peering/east/${what}?partition=eu`,
    needs: 'peering:read@eu',
    status: 404,
  })),
  ...['explain?service=web', 'diff?'].map((what) => ({
    endpoint: `GET /v1/peering/:name/${what.replace(/\?.*/, '')}`,
    path: `/v1/peering/east/${what}&partition=eu`,
    needs: 'peering:read@eu',
    also: 'services:read@eu',
    status: 404,
  })),
  { endpoint: 'GET /v1/peerings', path: '/v1/peerings?partition=eu', needs: 'peering:read@eu' },
  { endpoint: 'GET /v1/peerings', path: '/v1/peerings?partition=*', needs: 'peering:read@any' },
  {
    endpoint: 'GET /v1/peering/:name/check',
    path: '/v1/peering/east/check?partition=eu',
    needs: 'peering:write@eu',
    status: 404,
  },
  {
    endpoint: 'POST /v1/peering/check',
    path: '/v1/peering/check',
    body: { PeeringToken: 'unreadable', Partition: 'eu' },
    needs: 'peering:write@eu',
  },
  {
    endpoint: 'PUT /v1/catalog/register',
    path: '/v1/catalog/register',
    body: { Node: 'n1', Address: '10.0.0.1', Partition: 'eu', Service: { Service: 'web' } },
    needs: 'services:write@eu',
  },
  {
    endpoint: 'PUT /v1/catalog/deregister',
    path: '/v1/catalog/deregister',
    body: { Node: 'n1', Partition: 'eu' },
    needs: 'services:write@eu',
  },
  { endpoint: 'GET /v1/catalog/services', path: '/v1/catalog/services?partition=eu', needs: 'services:read@eu' },
  {
    endpoint: 'GET /v1/catalog/service/:name',
    path: '/v1/catalog/service/web?partition=eu',
    needs: 'services:read@eu',
  },
  { endpoint: 'GET /v1/catalog/nodes', path: '/v1/catalog/nodes?partition=eu', needs: 'services:read@eu' },
  { endpoint: 'GET /v1/catalog/node/:name', path: '/v1/catalog/node/n1?partition=eu', needs: 'services:read@eu' },
  { endpoint: 'GET /v1/health/service/:name', path: '/v1/health/service/web?partition=eu', needs: 'services:read@eu' },
  {
    endpoint: 'GET /v1/health/service/:name',
    path: '/v1/health/service/web?partition=eu&peer=x',
    needs: 'services:read@eu',
  },
  { endpoint: 'GET /v1/health/node/:name', path: '/v1/health/node/n1?partition=eu', needs: 'services:read@eu' },
  { endpoint: 'GET /v1/health/state/:state', path: '/v1/health/state/any?partition=eu', needs: 'services:read@eu' },
  {
    endpoint: 'PUT /v1/agent/service/register',
    path: '/v1/agent/service/register?partition=eu',
    body: { Name: 'web' },
    needs: 'services:write@eu',
  },
  {
    endpoint: 'PUT /v1/agent/service/deregister/:id',
    path: '/v1/agent/service/deregister/absent?partition=eu',
    needs: 'services:write@eu',
    status: 404,
  },
  ...['pass', 'warn', 'fail'].map((word) => ({
    endpoint: `PUT /v1/agent/check/${word}/:id`,
    path: `/v1/agent/check/${word}/absent?partition=eu`,
    needs: 'services:write@eu',
    status: 404,
  })),
  { endpoint: 'GET /v1/agent/services', path: '/v1/agent/services?partition=eu', needs: 'services:read@eu' },
  { endpoint: 'GET /v1/agent/checks', path: '/v1/agent/checks?partition=eu', needs: 'services:read@eu' },
  ...['PUT /v1/config', 'POST /v1/config/preview'].flatMap((endpoint) => {
    const path = endpoint.replace(/.* /, '');
    const sources = [{ Name: 'web', Action: 'allow' }];
    const exported = { Kind: 'exported-services', Name: 'eu', Services: [] };
    const intentions = { Kind: 'service-intentions', Name: 'db', Partition: 'eu', Sources: sources };
    return [exported, intentions].map((body) => ({ endpoint, path, body, needs: 'config:write@eu' }));
  }),
  {
    endpoint: 'GET /v1/config/:kind',
    path: '/v1/config/service-intentions?partition=eu',
    needs: 'config:read@eu',
  },
  { endpoint: 'GET /v1/config/:kind', path: '/v1/config/exported-services?partition=*', needs: 'config:read@any' },
  {
    endpoint: 'GET /v1/config/:kind/:name',
    path: '/v1/config/service-intentions/nobody?partition=eu',
    needs: 'config:read@eu',
    status: 404,
  },
  {
    endpoint: 'DELETE /v1/config/:kind/:name',
    path: '/v1/config/service-intentions/nobody?partition=eu',
    needs: 'config:write@eu',
  },
  { endpoint: 'DELETE /v1/config/:kind/:name', path: '/v1/config/exported-services/eu', needs: 'config:write@eu' },
  { endpoint: 'GET /v1/exported-services', path: '/v1/exported-services?partition=eu', needs: 'config:read@eu' },
  { endpoint: 'GET /v1/exported-services', path: '/v1/exported-services?partition=*', needs: 'config:read@any' },
  { endpoint: 'GET /v1/imported-services', path: '/v1/imported-services?partition=eu', needs: 'services:read@eu' },
  { endpoint: 'GET /v1/imported-services', path: '/v1/imported-services?partition=*', needs: 'services:read@any' },
  {
    endpoint: 'GET /v1/connect/intentions/check',
    path: '/v1/connect/intentions/check?source=web&destination=db&partition=eu',
    needs: 'config:read@eu',
  },
  {
    endpoint: 'GET /v1/connect/intentions/match',
    path: '/v1/connect/intentions/match?by=destination&name=db&partition=eu',
    needs: 'config:read@eu',
  },
  {
    endpoint: 'GET /v1/connect/intentions/match',
    path: '/v1/connect/intentions/match?by=source&name=db&partition=eu',
    needs: 'config:read@eu',
  },
];

const RESOURCES = ['peering', 'services', 'config', 'acl', 'operator'];

const call = (api: Api, { endpoint, path, body }: Row, token: string | null): Promise<Answer> =>
  api.request(endpoint.split(' ')[0] ?? '', path, { body, token });

/** Splits the required grant. The partition `any` means that a grant in any partition is sufficient. */
function parts({ needs }: Row): { resource: string; access: string; partition: string } {
  const [, resource = '', access = '', partition = ''] = /^(\w+):(\w+)@(.+)$/.exec(needs) ?? [];
  return { resource, access, partition };
}

const ANONYMOUS =
  /^Permission denied: anonymous token lacks permission '\w+:(read|write)'\. The anonymous token is used implicitly when a request does not specify a token\.$/;

test('every endpoint that needs a token has a row, and every row has an endpoint [ACL-32, ACL-56]', async () => {
  await using api = await startApi();
  const guarded = api.server.endpoints
    .filter(({ open, path }) => open !== true && !path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set(rows.map(({ endpoint }) => endpoint))].toSorted(), guarded.toSorted());
});

describe('acl.enabled: true', () => {
  let api: Api;
  /** Tokens by their grants, shared by all rows. */
  const tokens = new Map<string, { readonly id: string; readonly secret: string }>();
  before(async () => {
    api = await startApi();
    await api.makePartitions('eu', 'us', 'home');
  });
  after(() => api[Symbol.asyncDispose]());

  async function holding(...grants: string[]): Promise<{ readonly id: string; readonly secret: string }> {
    const key = grants.join(' ');
    let token = tokens.get(key);
    if (token === undefined) {
      const { AccessorID: id, SecretID: secret } = await api.makeToken(grants, { Partition: 'home' });
      token = { id, secret };
      tokens.set(key, token);
    }
    return token;
  }

  async function assertDenied(
    row: Row,
    { id, secret }: { readonly id: string; readonly secret: string },
  ): Promise<void> {
    const { resource, access } = parts(row);
    const text = `Permission denied: token with AccessorID '${id}' lacks permission '${resource}:${access}'`;
    const before = api.state.snapshot;
    const answer = await call(api, row, secret);
    assert.deepEqual([answer.status, answer.text], [403, text]);
    // A job can commit in the meantime, such as the removal of expired tokens, so only live rows are compared.
    const after = api.state.snapshot;
    for (const [table, rowsBefore] of before.tables) {
      if (after.tables.get(table) !== rowsBefore) assert.deepEqual(after.all(table), before.all(table), table.name);
    }
  }

  async function assertAllowed(row: Row, secret: string): Promise<void> {
    const answer = await call(api, row, secret);
    assert.equal(answer.status, row.status ?? 200, answer.text);
  }

  for (const row of rows) {
    describe(`${row.endpoint.split(' ')[0]} ${row.path} (${row.needs})`, () => {
      test('returns 403 to the anonymous token [ACL-9, ACL-63]', async () => {
        const answer = await call(api, row, null);
        assert.equal(answer.status, 403);
        assert.match(answer.text, ANONYMOUS);
      });
      test('returns 403 to an unknown token [ACL-6]', async () => {
        const answer = await call(api, row, 'd9ad3c1e-0000-4000-8000-000000000000');
        assert.deepEqual([answer.status, answer.text], [403, 'ACL not found']);
      });
      test('returns 403 to an expired token [ACL-6, ACL-15]', async () => {
        const grants = RESOURCES.map((Resource) => ({ Resource, Access: 'write', Partition: '*' }));
        const body = { Grants: grants, ExpirationTTL: '1ms' };
        const made = await api.request('PUT', '/v1/acl/token', { body });
        const { SecretID, ExpirationTime } = made.json<{ SecretID: string; ExpirationTime: string }>();
        while (Date.now() < Date.parse(ExpirationTime));
        const answer = await call(api, row, SecretID);
        assert.deepEqual([answer.status, answer.text], [403, 'ACL not found']);
      });
      if (row.needs === 'a token') {
        test('allows a token without grants [ACL-36]', async () => assertAllowed(row, (await holding()).secret));
        return;
      }
      const { resource, access, partition } = parts(row);
      const exact = partition === 'any' ? 'eu' : partition;
      const also = row.also === undefined ? [] : [row.also];
      test('allows the required grant', async () => {
        await assertAllowed(row, (await holding(`${resource}:${access}@${exact}`, ...also)).secret);
      });
      test('allows the required grant on all partitions [ACL-19]', async () => {
        await assertAllowed(row, (await holding(`${resource}:${access}@*`, ...also)).secret);
      });
      test('returns 403 to a token with grants on every other resource [ACL-18, ACL-64]', async () => {
        const others = RESOURCES.filter((other) => other !== resource).map((other) => `${other}:write@*`);
        await assertDenied(row, await holding(...others));
      });
      if (access === 'read') {
        test('allows a write grant on the resource [ACL-17]', async () => {
          await assertAllowed(row, (await holding(`${resource}:write@${exact}`, ...also)).secret);
        });
      } else {
        test('returns 403 to a read grant on the resource [ACL-17, ACL-64]', async () => {
          await assertDenied(row, await holding(`${resource}:read@*`));
        });
      }
      if (partition === 'any') return;
      test('returns 403 to the required grant in another partition [ACL-19, ACL-64]', async () => {
        const other = partition === 'us' ? 'eu' : 'us';
        await assertDenied(row, await holding(`${resource}:${access}@${other}`, `${resource}:${access}@home`));
      });
    });
  }
});

describe('acl.default-policy: allow', () => {
  test('allows every endpoint except those that need a grant on acl or operator [ACL-10]', async () => {
    await using api = await startApi({ policy: { defaultPolicy: 'allow' } });
    await api.makePartitions('eu');
    const { SecretID } = await api.makeToken([]);
    for (const row of rows) {
      const answer = await call(api, row, null);
      if (!['acl', 'operator', ''].includes(parts(row).resource)) {
        assert.equal(answer.status, row.status ?? 200, `${row.endpoint}: ${answer.text}`);
        continue;
      }
      assert.equal(answer.status, 403, `${row.endpoint}: ${answer.text}`);
      assert.match(answer.text, ANONYMOUS);
      if (row.needs !== 'a token') assert.equal((await call(api, row, SecretID)).status, 403);
      assert.equal((await call(api, row, 'unknown')).text, 'ACL not found');
    }
  });
});

describe('acl.enabled: false', () => {
  const settings: ApiSettings = { policy: { enabled: false } };
  for (const [name, token] of [
    ['no token', null],
    ['an unknown token', 'unknown'],
  ] as const) {
    test(`allows every endpoint with ${name} [ACL-11, ACL-36]`, async () => {
      await using api = await startApi(settings);
      await api.makePartitions('eu');
      for (const row of rows) {
        const answer = await call(api, row, token);
        const status = row.needs === 'a token' ? 404 : (row.status ?? 200);
        assert.equal(answer.status, status, `${row.endpoint}: ${answer.text}`);
      }
    });
  }
});
