/**
 * Who may call what: every endpoint of `/v1` against every kind of caller. An endpoint that is not open and stands in no row
 * fails the first test, so none can be added without its rules.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Api, type ApiSettings, startApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';

interface Row {
  /** As the server has it: method and path with `:name`. */
  readonly endpoint: string;
  /** A request that succeeds with the grant alone. */
  readonly path: string;
  readonly body?: unknown;
  /** The grant that it takes, such as `acl:read@eu`; `a token` when any token will do. */
  readonly needs: string;
  /** Another grant that it needs, which has tests of its own. */
  readonly also?: string;
  /** The status of success when it is not 200. */
  readonly status?: number;
}

/** A token that nobody made. */
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

/** The grant in its parts; `any` partition stands for one in which the caller may read something. */
function parts({ needs }: Row): { resource: string; access: string; partition: string } {
  const [, resource = '', access = '', partition = ''] = /^(\w+):(\w+)@(.+)$/.exec(needs) ?? [];
  return { resource, access, partition };
}

const ANONYMOUS =
  /^Permission denied: anonymous token lacks permission '\w+:(read|write)'\. The anonymous token is used implicitly when a request does not specify a token\.$/;

test('every endpoint that is not open has a row, and no row is left over', async () => {
  await using api = await startApi();
  const guarded = api.server.endpoints
    .filter(({ open, path }) => open !== true && !path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set(rows.map(({ endpoint }) => endpoint))].toSorted(), guarded.toSorted());
});

describe('with ACLs on', () => {
  let api: Api;
  /** Tokens by the grants that they hold: one is enough for all rows. */
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

  async function refused(row: Row, { id, secret }: { readonly id: string; readonly secret: string }): Promise<void> {
    const { resource, access } = parts(row);
    const text = `Permission denied: token with AccessorID '${id}' lacks permission '${resource}:${access}'`;
    const before = api.state.snapshot;
    const answer = await call(api, row, secret);
    assert.deepEqual([answer.status, answer.text], [403, text]);
    // A job may commit meanwhile, such as the removal of tokens that have expired: nothing that lives may differ.
    const after = api.state.snapshot;
    for (const [table, trees] of before.trees) {
      if (after.trees.get(table) !== trees) assert.deepEqual(after.all(table), before.all(table), table.name);
    }
  }

  async function allowed(row: Row, secret: string): Promise<void> {
    const answer = await call(api, row, secret);
    assert.equal(answer.status, row.status ?? 200, answer.text);
  }

  for (const row of rows) {
    describe(`${row.endpoint.split(' ')[0]} ${row.path} (${row.needs})`, () => {
      test('is refused to the anonymous token', async () => {
        const answer = await call(api, row, null);
        assert.equal(answer.status, 403);
        assert.match(answer.text, ANONYMOUS);
      });
      test('is refused to a token that is not there', async () => {
        const answer = await call(api, row, 'd9ad3c1e-0000-4000-8000-000000000000');
        assert.deepEqual([answer.status, answer.text], [403, 'ACL not found']);
      });
      test('is refused to a token that has expired', async () => {
        const grants = RESOURCES.map((Resource) => ({ Resource, Access: 'write', Partition: '*' }));
        const body = { Grants: grants, ExpirationTTL: '1ms' };
        const made = await api.request('PUT', '/v1/acl/token', { body });
        const { SecretID, ExpirationTime } = made.json<{ SecretID: string; ExpirationTime: string }>();
        while (Date.now() < Date.parse(ExpirationTime));
        const answer = await call(api, row, SecretID);
        assert.deepEqual([answer.status, answer.text], [403, 'ACL not found']);
      });
      if (row.needs === 'a token') {
        test('is open to a token without grants', async () => allowed(row, (await holding()).secret));
        return;
      }
      const { resource, access, partition } = parts(row);
      const exact = partition === 'any' ? 'eu' : partition;
      const also = row.also === undefined ? [] : [row.also];
      test('is open to the grant alone', async () => {
        await allowed(row, (await holding(`${resource}:${access}@${exact}`, ...also)).secret);
      });
      test('is open to the same grant on all partitions', async () => {
        await allowed(row, (await holding(`${resource}:${access}@*`, ...also)).secret);
      });
      test('is refused to a token with every other resource', async () => {
        const others = RESOURCES.filter((other) => other !== resource).map((other) => `${other}:write@*`);
        await refused(row, await holding(...others));
      });
      test(`is ${access === 'read' ? 'open' : 'refused'} to one that may only read or write it`, async () => {
        if (access === 'read') await allowed(row, (await holding(`${resource}:write@${exact}`, ...also)).secret);
        else await refused(row, await holding(`${resource}:read@*`));
      });
      if (partition === 'any') return;
      test('is refused to the grant in another partition', async () => {
        const other = partition === 'us' ? 'eu' : 'us';
        await refused(row, await holding(`${resource}:${access}@${other}`, `${resource}:${access}@home`));
      });
    });
  }
});

describe('acl.default-policy: allow', () => {
  test('opens everything but what is of acl and operator', async () => {
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
    ['nobody', null],
    ['a token that is not there', 'unknown'],
  ] as const) {
    test(`opens everything to ${name}`, async () => {
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
