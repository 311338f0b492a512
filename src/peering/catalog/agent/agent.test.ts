import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type CheckJson,
  type Fields,
  healthOf,
  mustDeregister,
  mustGet,
  mustRegister,
  mustRegisterWithAgent,
} from '../../../../test/support/peering/catalog-requests.ts';
import { statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';
import type { Answer } from '../../../../test/support/process/server.ts';
import { catalogNodes } from '../tables/catalog-node.ts';

describe('the local agent', () => {
  const api = sharedApi({ node: 'server-1' });
  const put = (path: string, options = {}): Promise<Answer> => api().request('PUT', path, options);

  // Verifies [SVC-49] [SVC-50].
  test('registers a service on the node of its server with a critical check [SVC-44] [SVC-47] [SVC-57]', async () => {
    await mustRegisterWithAgent(api(), {
      ID: 'web-1',
      Name: 'web',
      Tags: ['v1'],
      Port: 80,
      Address: '',
      Meta: { team: 'a' },
      Check: { TTL: '30s', Notes: 'n' },
      Checks: null,
      Weights: null,
      EnableTagOverride: false,
    });
    assert.deepEqual(await healthOf(api(), 'web'), ['server-1/web-1 passing,critical']);
    const [entry] = await mustGet<{ Node: Fields; Service: Fields; Checks: Fields[] }[]>(
      api(),
      '/v1/health/service/web',
    );
    assert.deepEqual([entry?.Node['Node'], entry?.Node['Address']], ['server-1', '127.0.0.1']);
    assert.deepEqual(await mustGet(api(), '/v1/agent/services'), { 'web-1': entry?.Service });
    assert.deepEqual(await mustGet(api(), '/v1/agent/checks'), { 'service:web-1': entry?.Checks[1] });
    const { Name, Status, Type, Notes, ServiceTags } = entry?.Checks[1] ?? {};
    assert.deepEqual([Name, Status, Type, Notes, ServiceTags], ["Service 'web' check", 'critical', 'ttl', 'n', ['v1']]);
    assert.deepEqual([entry?.Checks[0]?.['CheckID'], entry?.Checks[0]?.['Status']], ['server-lease', 'passing']);
  });

  test('stores reports with their notes and wakes no query when only the TTL is renewed [SVC-51] [SVC-52]', async () => {
    await mustRegisterWithAgent(api(), { Name: 'reports', Check: { CheckID: 'r', TTL: '30s' } });
    const check = async (): Promise<CheckJson | undefined> =>
      (await mustGet<Record<string, CheckJson>>(api(), '/v1/agent/checks'))['r'];
    for (const [word, status] of [
      ['pass', 'passing'],
      ['warn', 'warning'],
      ['fail', 'critical'],
    ]) {
      assert.deepEqual(statusAndText(await put(`/v1/agent/check/${word}/r?note=all+is+${word}`)), [200, '']);
      const shown = await check();
      assert.deepEqual([shown?.Status, shown?.Output], [status, `all is ${word}`]);
    }
    await put('/v1/agent/check/pass/r');
    const held = await api().startBlockingQuery(`/v1/health/service/reports?index=${api().state.snapshot.index}`);
    await put('/v1/agent/check/pass/r');
    assert.equal(api().reads.waitingCount, 1);
    await put('/v1/agent/check/pass/r?note=other');
    assert.equal((await held.answer).json<{ Checks: CheckJson[] }[]>()[0]?.Checks[1]?.Output, 'other');
  });

  test('keeps the status of a check when its service registers again without Status [SVC-50]', async () => {
    const service = { Name: 'again', Check: { TTL: '30s' } };
    await mustRegisterWithAgent(api(), service);
    await put('/v1/agent/check/pass/service:again?note=fine');
    const { snapshot } = api().state;
    await mustRegisterWithAgent(api(), service);
    assert.equal(api().state.snapshot, snapshot);
    await mustRegisterWithAgent(api(), { ...service, Port: 81 });
    assert.deepEqual(await healthOf(api(), 'again'), ['server-1/again passing,passing']);
    await mustRegisterWithAgent(api(), { ...service, Check: { TTL: '30s', Status: 'warning' } });
    assert.deepEqual(await healthOf(api(), 'again'), ['server-1/again passing,warning']);
  });

  test('removes the checks that the body omits only with replace-existing-checks [SVC-116]', async () => {
    const service = { Name: 'fewer', Checks: ['a', 'b'].map((CheckID) => ({ CheckID, TTL: '30s' })) };
    const register = async (query: string, CheckID: string) => {
      const body = { Name: 'fewer', Check: { CheckID, TTL: '30s' } };
      return await api().request('PUT', `/v1/agent/service/register${query}`, { body });
    };
    const checks = async (): Promise<string[]> =>
      Object.values(await mustGet<Record<string, CheckJson>>(api(), '/v1/agent/checks'))
        .filter(({ ServiceID }) => ServiceID === 'fewer')
        .map(({ CheckID, Status }) => `${CheckID} ${Status}`);
    await mustRegisterWithAgent(api(), service);
    await put('/v1/agent/check/pass/a');
    for (const query of ['', '?replace-existing-checks=false', '?replace-existing-checks=0']) {
      assert.equal((await register(query, 'a')).status, 200);
      assert.deepEqual(await checks(), ['a passing', 'b critical']);
    }
    assert.deepEqual(statusAndText(await register('?replace-existing-checks=perhaps', 'a')), [
      400,
      'Invalid value for ?replace-existing-checks "perhaps": want true or false',
    ]);
    assert.equal((await register('?replace-existing-checks=true', 'a')).status, 200);
    assert.deepEqual(await checks(), ['a passing']);
    assert.equal((await put('/v1/agent/check/pass/b')).status, 404);
    assert.equal((await register('?replace-existing-checks=1', 'b')).status, 200);
    assert.deepEqual(await checks(), ['b critical']);
  });

  test('numbers the default IDs of several checks [SVC-49]', async () => {
    await mustRegisterWithAgent(api(), {
      Name: 'two',
      Check: { TTL: '1s', Status: 'passing' },
      Checks: [{ TTL: '2s' }],
    });
    const checks = Object.keys(await mustGet<object>(api(), '/v1/agent/checks'));
    assert.deepEqual(checks.filter((id) => id.startsWith('service:two')).toSorted(), [
      'service:two:1',
      'service:two:2',
    ]);
  });

  test('has a node in each partition with a service [SVC-44]', async () => {
    await api().makePartitions('eu');
    await mustRegisterWithAgent(api(), { Name: 'parted', Check: { TTL: '9s' } }, '?partition=eu');
    await mustRegisterWithAgent(api(), { Name: 'parted-too', Partition: 'eu' });
    assert.deepEqual(Object.keys(await mustGet<object>(api(), '/v1/agent/services?partition=EU')).toSorted(), [
      'parted',
      'parted-too',
    ]);
    assert.deepEqual(await healthOf(api(), 'parted'), []);
    assert.equal((await put('/v1/agent/check/pass/service:parted')).status, 404);
    assert.equal((await put('/v1/agent/check/pass/service:parted?partition=eu')).status, 200);
  });

  test('deregisters a service with its checks', async () => {
    await mustRegisterWithAgent(api(), { Name: 'going', Check: { TTL: '30s' } });
    assert.deepEqual(statusAndText(await put('/v1/agent/service/deregister/going')), [200, '']);
    assert.deepEqual(await healthOf(api(), 'going'), []);
    assert.equal((await put('/v1/agent/check/pass/service:going')).status, 404);
    await mustRegisterWithAgent(api(), { Name: 'going', Check: { TTL: '30s' } });
    await mustDeregister(api(), { Node: 'server-1', ServiceID: 'going' });
    assert.equal((await put('/v1/agent/check/pass/service:going')).status, 404);
  });

  test('returns 404 for an unknown service ID or check ID [SVC-60]', async () => {
    assert.deepEqual(statusAndText(await put('/v1/agent/service/deregister/nothing')), [
      404,
      'Unknown service ID "nothing". Ensure that the service ID is passed, not the service name.',
    ]);
    assert.deepEqual(statusAndText(await put('/v1/agent/check/pass/nothing')), [
      404,
      'Unknown check ID "nothing". Ensure that the check ID is passed, not the check name.',
    ]);
  });

  const invalidBodies: readonly (readonly [what: string, body: Fields, text: RegExp])[] = [
    ['without a name', {}, /^Missing service name$/], // [SVC-47]
    [
      'with a check without TTL', // [SVC-48]
      { Name: 'x', Check: { Name: 'c' } },
      /^Invalid check: TTL "": want a duration such as/,
    ],
    // [SVC-48]
    ['with a malformed TTL', { Name: 'x', Check: { TTL: 'soon' } }, /^Invalid check: TTL "soon": want a duration/],
    ['with a TTL that is too short', { Name: 'x', Check: { TTL: '99ms' } }, /from 100 ms to 31 days$/], // [SVC-48]
    ['with a TTL that is too long', { Name: 'x', Check: { TTL: '745h' } }, /from 100 ms to 31 days$/], // [SVC-48]
    [
      'with a check of another kind', // [SVC-48]
      { Name: 'x', Check: { HTTP: 'http://x', Interval: '5s' } },
      /^Invalid check: this server does not run checks with HTTP; want TTL, and reports of the service$/,
    ],
    [
      'with two checks with the same ID',
      {
        Name: 'x',
        Checks: [
          { CheckID: 'c', TTL: '1s' },
          { CheckID: 'c', TTL: '1s' },
        ],
      },
      /^two checks have the same CheckID$/,
    ],
    [
      'with the check ID of another service', // [SVC-49]
      { Name: 'x', Check: { CheckID: 'taken', TTL: '1s' } },
      /belongs to service "owner"/,
    ],
    ['in a namespace', { Name: 'x', Namespace: 'team' }, /^unknown namespace "team"/], // [SVC-20]
    ['with an unknown field', { Name: 'x', Tag: 'v1' }, /json: unknown field "Tag", did you mean "Tags"\?$/],
    ['in a missing partition', { Name: 'x', Partition: 'nowhere' }, /^partition "nowhere" does not exist$/],
  ];
  for (const [what, body, text] of invalidBodies) {
    test(`returns 400 for a service ${what}`, async () => {
      await mustRegisterWithAgent(api(), { Name: 'owner', Check: { CheckID: 'taken', TTL: '30s' } });
      const { snapshot } = api().state;
      const answer = await put('/v1/agent/service/register', { body });
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, text);
      assert.equal(api().state.snapshot, snapshot);
    });
  }

  test('limits a token with a grant for names to those services', async () => {
    await mustRegisterWithAgent(api(), { Name: 'mine', Check: { TTL: '30s' } });
    await mustRegisterWithAgent(api(), { Name: 'theirs', Check: { TTL: '30s' } });
    const { SecretID: token } = await api().makeToken(['services:write@default=mine']);
    const statusOf = async (path: string, body?: Fields): Promise<number> => (await put(path, { body, token })).status;
    assert.equal(await statusOf('/v1/agent/service/register', { Name: 'mine', Port: 1 }), 200);
    assert.equal(await statusOf('/v1/agent/service/register', { Name: 'theirs', Port: 1 }), 403);
    assert.equal(await statusOf('/v1/agent/service/register', { ID: 'theirs', Name: 'mine' }), 403);
    assert.equal(await statusOf('/v1/agent/check/pass/service:mine'), 200);
    assert.equal(await statusOf('/v1/agent/check/pass/service:theirs'), 403);
    assert.equal(await statusOf('/v1/agent/service/deregister/theirs'), 403);
    const answer = await api().request('GET', '/v1/agent/services', { token });
    assert.deepEqual(Object.keys(answer.json<object>()), ['mine']);
    assert.equal(answer.headers['x-service-results-filtered-by-acls'], 'true');
    assert.deepEqual(Object.keys(await mustGet<object>(api(), '/v1/agent/checks', { token })), ['service:mine']);
    assert.equal(await statusOf('/v1/agent/service/deregister/mine'), 200);
  });
});

test('the local agent takes over a node with its name and recreates it after a deregistration [SVC-46]', async () => {
  await using api = await startApi({ node: 'server-1' });
  await mustRegister(api, { Node: 'Server-1', Address: '10.0.0.7' });
  await mustRegisterWithAgent(api, { Name: 'db' });
  assert.deepEqual(await healthOf(api, 'web'), ['Server-1/web passing']);
  assert.equal((await mustGet<unknown[]>(api, '/v1/catalog/nodes')).length, 1);
  const [before] = api.state.snapshot.all(catalogNodes);
  assert.deepEqual([before?.row.address, before?.row.agent], ['127.0.0.1', 'server-1']);
  await mustDeregister(api, { Node: 'server-1' });
  await mustRegisterWithAgent(api, { Name: 'db' });
  assert.deepEqual(await mustGet(api, '/v1/catalog/services'), { db: [] });
});
