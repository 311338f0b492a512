import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type CheckJson,
  type HealthEntryJson,
  healthOf,
  importedInstance,
  importFrom,
  mustGet,
  mustRegister,
} from '../../../../test/support/peering/catalog-requests.ts';
import { indexOfAnswer, mustGenerate, statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';

describe('GET /v1/health/service', () => {
  let api: Api;
  before(async () => {
    api = await startApi();
    const instance = (Node: string, Status: string, Tags: readonly string[] = []): Promise<void> =>
      mustRegister(api, {
        Node,
        Service: { Service: 'Web', Tags },
        Check: { Name: 's', Status, ServiceID: 'Web' },
      });
    await instance('c', 'passing', ['v1', 'Blue']);
    await instance('a', 'warning', ['v1']);
    await instance('b', 'critical', ['v2', 'blue']);
    await mustRegister(api, { Node: 'e', Service: { Service: 'Web', Tags: ['v2'] } });
    await mustRegister(api, { Node: 'd', Service: { Service: 'Web' }, Check: { Name: 'n', Status: 'critical' } });
  });
  after(() => api[Symbol.asyncDispose]());

  test('returns sorted instances with the checks of node and service, ignoring the case of the name [SVC-14] [SVC-33]', async () => {
    const all = ['a/Web warning', 'b/Web critical', 'c/Web passing', 'd/Web critical', 'e/Web'];
    assert.deepEqual(await healthOf(api, 'web'), all);
    assert.deepEqual(await healthOf(api, 'WEB', '?stale'), all);
    assert.deepEqual(await healthOf(api, 'other'), []);
  });

  for (const value of ['', '=', '=1', '=true']) {
    test(`returns only instances whose checks all pass with passing${value} [SVC-37]`, async () => {
      assert.deepEqual(await healthOf(api, 'web', `?passing${value}`), ['c/Web passing', 'e/Web']);
    });
  }
  test('returns all instances with passing=false and 400 for another value [SVC-37]', async () => {
    assert.equal((await healthOf(api, 'web', '?passing=false')).length, 5);
    const answer = await api.request('GET', '/v1/health/service/web?passing=maybe');
    assert.deepEqual(statusAndText(answer), [400, 'Invalid value for ?passing "maybe": want true or false']);
  });

  test('returns only instances with all given tags [V1-13] [SVC-38]', async () => {
    assert.deepEqual(await healthOf(api, 'web', '?tag=v1'), ['a/Web warning', 'c/Web passing']);
    assert.deepEqual(await healthOf(api, 'web', '?tag=BLUE'), ['b/Web critical', 'c/Web passing']);
    assert.deepEqual(await healthOf(api, 'web', '?tag=blue&tag=v2'), ['b/Web critical']);
    assert.deepEqual(await healthOf(api, 'web', '?tag=v1&passing'), ['c/Web passing']);
    assert.deepEqual(await healthOf(api, 'web', '?tag=v3'), []);
    const services = await mustGet<{ Node: string }[]>(api, '/v1/catalog/service/web?tag=v2');
    assert.deepEqual(
      services.map(({ Node }) => Node),
      ['b', 'e'],
    );
  });

  test('indents the response with pretty and compresses it', async () => {
    const plain = await api.request('GET', '/v1/health/service/web');
    const pretty = await api.request('GET', '/v1/health/service/web?pretty');
    assert.equal(pretty.text, `${JSON.stringify(plain.json(), null, 4)}\n`);
    const zipped = await api.request('GET', '/v1/health/service/web', { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(zipped.headers['content-encoding'], 'gzip');
    const cached = await api.request('GET', '/v1/health/service/web?cached');
    assert.equal(cached.headers['x-cache'], 'HIT');
  });

  test('filters checks by state at /v1/health/state [SVC-35]', async () => {
    const inState = async (state: string): Promise<string[]> => {
      const checks = await mustGet<CheckJson[]>(api, `/v1/health/state/${state}`);
      return checks.map(({ Node, CheckID }) => `${Node}/${CheckID}`);
    };
    assert.deepEqual(await inState('any'), ['d/n', 'a/s', 'b/s', 'c/s']);
    assert.deepEqual(await inState('critical'), ['d/n', 'b/s']);
    assert.deepEqual(await inState('warning'), ['a/s']);
    assert.deepEqual(await inState('passing'), ['c/s']);
    const answer = await api.request('GET', '/v1/health/state/fine');
    assert.deepEqual(statusAndText(answer), [
      400,
      'Invalid state "fine": want any or passing or warning or critical or maintenance',
    ]);
  });
});

describe('a read with peer', () => {
  let api: Api;
  before(async () => {
    api = await startApi();
    await api.makePartitions('eu');
    await mustRegister(api, { Service: { Service: 'web', Tags: ['here'] } });
    await mustGenerate(api, 'East');
    await mustGenerate(api, 'west');
    await mustGenerate(api, 'east', { Partition: 'eu' });
    await importFrom(api, 'east', 'web', [
      importedInstance('web', 'e2', 'critical'),
      importedInstance('web', 'e1', 'passing', ['x']),
    ]);
    await importFrom(api, 'east', 'Db', [importedInstance('Db', 'e1')]);
    await importFrom(api, 'west', 'web', [importedInstance('web', 'w1')]);
    await importFrom(api, 'east', 'web', [importedInstance('web', 'eu1')], 'eu');
  });
  after(() => api[Symbol.asyncDispose]());

  test('returns only the services of that peer [SVC-39]', async () => {
    assert.deepEqual(await healthOf(api, 'web'), ['n1/web']);
    assert.deepEqual(await healthOf(api, 'web', '?peer=EAST'), ['e1/web passing', 'e2/web critical']);
    assert.deepEqual(await healthOf(api, 'web', '?peer=west'), ['w1/web passing']);
    assert.deepEqual(await healthOf(api, 'web', '?peer=east&partition=eu'), ['eu1/web passing']);
    assert.deepEqual(await healthOf(api, 'DB', '?peer=east&stale'), ['e1/Db passing']);
    assert.deepEqual(await healthOf(api, 'db'), []);
    assert.deepEqual(await healthOf(api, 'web', '?peer=nobody'), []);
    assert.deepEqual(await healthOf(api, 'web', '?peer=east&passing'), ['e1/web passing']);
    assert.deepEqual(await healthOf(api, 'web', '?peer=east&tag=x'), ['e1/web passing']);
  });

  test('contains PeerName and the local partition in every list [SVC-31] [SVC-32] [SVC-39]', async () => {
    const [entry] = await mustGet<HealthEntryJson[]>(api, '/v1/health/service/web?peer=east');
    assert.deepEqual(
      [entry?.Node.PeerName, entry?.Service.PeerName, entry?.Checks[0]?.PeerName, entry?.Service.Partition],
      ['East', 'East', 'East', 'default'],
    );
    const [service] = await mustGet<{ PeerName: string; ServiceName: string }[]>(
      api,
      '/v1/catalog/service/web?peer=west',
    );
    assert.deepEqual([service?.PeerName, service?.ServiceName], ['west', 'web']);
    assert.deepEqual(await mustGet(api, '/v1/catalog/services?peer=east'), { Db: [], web: ['x'] });
    const nodes = await mustGet<{ Node: string; PeerName: string }[]>(api, '/v1/catalog/nodes?peer=east');
    assert.deepEqual(
      nodes.map(({ Node, PeerName }) => `${Node} ${PeerName}`),
      ['e1 East', 'e2 East'],
    );
    const node = await mustGet<{ Node: { Node: string }; Services: object }>(api, '/v1/catalog/node/E1?peer=east');
    assert.deepEqual([node.Node.Node, Object.keys(node.Services).toSorted()], ['e1', ['Db', 'web']]);
    assert.equal(await mustGet(api, '/v1/catalog/node/n1?peer=east'), null);
    assert.equal((await mustGet<unknown[]>(api, '/v1/health/node/e1?peer=east')).length, 2);
    const critical = await mustGet<CheckJson[]>(api, '/v1/health/state/critical?peer=east');
    assert.deepEqual(
      critical.map(({ Node, PeerName }) => `${Node} ${PeerName}`),
      ['e2 East'],
    );
  });

  test('reads services that the API does not let callers change [SVC-21] [SVC-80]', async () => {
    const { snapshot } = api.state;
    for (const [path, body] of [
      ['/v1/catalog/register', { Node: 'e1', Address: '10.0.0.1', PeerName: 'east', Service: { Service: 'web' } }],
      ['/v1/catalog/register', { Node: 'e1', Address: '10.0.0.1', Service: { Service: 'web', PeerName: 'east' } }],
      ['/v1/catalog/deregister', { Node: 'e1', PeerName: 'east' }],
    ] as const) {
      const answer = await api.request('PUT', path, { body });
      assert.equal(answer.status, 400);
      assert.match(answer.text, /^cannot change items of peer "east": change them in the cluster that exports them$/);
    }
    // Without PeerName the request means a node of this cluster, which is missing.
    await api.request('PUT', '/v1/catalog/deregister', { body: { Node: 'e1' } });
    assert.equal(api.state.snapshot, snapshot);
  });

  test('has no counterpart for writes, which return 400 [SVC-21]', async () => {
    await mustRegister(api, { Node: 'e1' });
    for (const path of ['register', 'deregister']) {
      const body = { Node: 'e1', Address: '10.0.0.9' };
      const answer = await api.request('PUT', `/v1/catalog/${path}?peer=east`, { body });
      assert.equal(answer.status, 400);
    }
    assert.notEqual(await mustGet(api, '/v1/catalog/node/e1'), null);
  });

  test('returns nothing as soon as the peering is TERMINATED [PEER-67] [SVC-39]', async () => {
    await mustGenerate(api, 'ending');
    await importFrom(api, 'ending', 'web', [importedInstance('web', 'x1')]);
    const path = '/v1/health/service/web?peer=ending';
    const held = await api.startBlockingQuery(`${path}&index=${indexOfAnswer(await api.request('GET', path))}`);
    await api.request('DELETE', '/v1/peering/ending');
    assert.equal((await held.answer).text, '[]');
    assert.deepEqual(await mustGet(api, '/v1/catalog/services?peer=ending'), {});
    assert.deepEqual(await mustGet(api, '/v1/catalog/nodes?peer=ending'), []);
  });

  test('returns 400 for an invalid peer name', async () => {
    const answer = await api.request('GET', '/v1/health/service/web?peer=a_b');
    assert.equal(answer.status, 400);
    assert.match(answer.text, /^a_b is not a valid peer name/);
  });
});

describe('failover', () => {
  /** The status of the instance of this cluster, of east and of west. Empty: no instance. */
  const cases: readonly (readonly [here: string, east: string, west: string, query: string, answer: string])[] = [
    ['passing', 'passing', 'passing', 'east,west', 'local'],
    ['warning', 'passing', 'passing', 'east,west', 'east'],
    ['critical', 'passing', 'passing', 'west,east', 'west'],
    ['', 'passing', '', 'east,west', 'east'],
    ['critical', 'critical', 'passing', 'east,west', 'west'],
    ['critical', '', 'passing', 'East, WEST', 'west'],
    ['critical', 'warning', 'critical', 'east,west', 'local'],
    ['', 'critical', '', 'east', 'local'],
    ['', '', '', 'nobody', 'local'],
    ['critical', 'passing', '', 'nobody,east', 'east'],
  ];
  for (const [here, east, west, query, answeredBy] of cases) {
    test(`=${query} is answered by ${answeredBy} with local ${here || 'none'}, east ${east || 'none'}, west ${west || 'none'} [SVC-40] [SVC-41]`, async () => {
      await using api = await startApi();
      await mustGenerate(api, 'east');
      await mustGenerate(api, 'west');
      if (here !== '') await mustRegister(api, { Check: { Name: 's', Status: here, ServiceID: 'web' } });
      for (const [peer, status] of [
        ['east', east],
        ['west', west],
      ] as const) {
        if (status !== '') await importFrom(api, peer, 'web', [importedInstance('web', peer, status)]);
      }
      const answer = await api.request('GET', `/v1/health/service/web?failover=${encodeURIComponent(query)}`);
      assert.equal(answer.headers['x-service-answered-by'], answeredBy, answer.text);
      const nodes = answer.json<HealthEntryJson[]>().map(({ Node }) => Node.Node);
      const own = here === '' ? [] : ['n1'];
      assert.deepEqual(nodes, answeredBy === 'local' ? own : [answeredBy]);
    });
  }

  test('considers only instances with the given tags', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'east');
    await mustRegister(api, { Service: { Service: 'web', Tags: ['v1'] } });
    await importFrom(api, 'east', 'web', [importedInstance('web', 'e1', 'passing', ['v2'])]);
    const answer = await api.request('GET', '/v1/health/service/web?failover=east&tag=v2');
    assert.equal(answer.headers['x-service-answered-by'], 'east');
  });

  test('sets X-Service-Answered-By only with failover and returns 400 for invalid values [SVC-40] [SVC-41] [SVC-42]', async () => {
    await using api = await startApi();
    const answer = await api.request('GET', '/v1/health/service/web');
    assert.equal(answer.headers['x-service-answered-by'], undefined);
    const both = await api.request('GET', '/v1/health/service/web?failover=east&peer=west');
    assert.deepEqual(statusAndText(both), [400, 'Cannot specify ?peer with ?failover, conflicting semantics.']);
    const many = await api.request('GET', `/v1/health/service/web?failover=${Array(17).fill('p').join()}`);
    assert.deepEqual(statusAndText(many), [400, '17 peers in failover, want at most 16']);
    const none = await api.request('GET', '/v1/health/service/web?failover=a,,b');
    const empty = 'a name in ?failover="a,,b" is empty: want peers, separated by commas';
    assert.deepEqual(statusAndText(none), [400, empty]);
  });
});
