/** The catalog and the local agents of several servers on one etcd. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { rendezvous } from '../../src/state/jobs/placement.ts';
import { instances } from '../support/peering/cluster-services.ts';
import { isActive, startCluster } from '../support/peering/clusters.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import type { Server } from '../support/process/server.ts';
import { untilQueriesWait } from '../support/process/waiting-queries.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** The lease of a dead server, and time for a busy machine. */
const TAKEOVER_MS = 30_000;

/** The fields of an instance in an answer of `/v1/health` that these tests read. */
interface Entry {
  readonly Node: { readonly Node: string };
  readonly Checks: readonly { readonly Status: string; readonly Output: string }[];
}

describe('services registered with the local agents of several servers', {
  skip: skipWithout('etcd'),
  timeout: 180_000,
  concurrency: 2,
}, () => {
  let etcd: EtcdCluster;
  let prefixes = 0;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  /** Returns a function that starts servers of one new cluster. */
  const serversOf = (further: Readonly<Record<string, string>> = {}): ((name: string) => Promise<Server>) => {
    // Longer than a busy machine delays a server, because services of a server without a lease are critical [SVC-58].
    const settings = { 'etcd.prefix': `services-${++prefixes}/`, 'node.lease': '5s', ...further };
    return (name) => startEtcdServer({ name, endpoints: etcd.urls, settings });
  };

  /** Returns the checks of a service, as `node status output`. */
  async function checksOf(server: Server, token: string, service: string): Promise<string[]> {
    const answer = await server.request('GET', `/v1/health/service/${service}`, { token });
    assert.equal(answer.status, 200, answer.text);
    return answer
      .json<Entry[]>()
      .flatMap(({ Node, Checks }) => Checks.map(({ Status, Output }) => `${Node.Node} ${Status} ${Output}`.trim()));
  }

  const untilChecks = (server: Server, token: string, service: string, expected: readonly string[]): Promise<void> =>
    until(
      `${service} is ${expected.join()}`,
      async () => (await checksOf(server, token, service)).join() === expected.join(),
      TAKEOVER_MS,
    );

  async function registerWithAgent(server: Server, token: string, body: unknown): Promise<void> {
    const answer = await server.request('PUT', '/v1/agent/service/register', { token, body });
    assert.equal(answer.status, 200, answer.text);
  }

  test('are critical while their server is dead, and recover when it restarts [SVC-58]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = serversOf();
    const a = stack.use(await start('a'));
    const b = stack.use(await start('b'));
    const { token } = a;
    const check = { TTL: '1h', Status: 'passing' };
    for (const server of [a, b]) await registerWithAgent(server, token, { Name: 'web', Check: check });
    const all = ['a passing', 'a passing', 'b passing', 'b passing'];
    // On a busy machine a server can lose its lease for a moment.
    await untilChecks(b, token, 'web', all);
    await a.stop('SIGKILL');
    await untilChecks(b, token, 'web', ['a critical node lost', 'a critical node lost', 'b passing', 'b passing']);
    stack.use(await start('a'));
    await untilChecks(b, token, 'web', all);
  });

  test('are critical in the peer too, also when the dead server held the stream [SVC-58]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = serversOf({ 'peering.heartbeat-interval': '1s', 'peering.heartbeat-timeout': '4s' });
    const a = stack.use(await start('a'));
    const west = stack.use(await startCluster({ settings: { 'cluster.datacenter': 'dc2' } }));
    const { token } = a;
    const peerName = { PeerName: 'west' };
    const made = await a.request('POST', '/v1/peering/token', { token, body: peerName });
    const { PeeringToken } = made.json<{ PeeringToken: string }>();
    assert.equal((await west.establish('east', PeeringToken)).status, 200);
    await west.untilRecord('east', isActive);
    // The first server holds the stream. The dialing side receives the address of the second one.
    const b = stack.use(await start('b'));
    await west.untilRecord('east', (record) => record?.PeerServerAddresses?.length === 2, TAKEOVER_MS);
    const check = { TTL: '1h', Status: 'passing' };
    for (const server of [a, b]) await registerWithAgent(server, token, { Name: 'web', Check: check });
    const Services = [{ Name: 'web', Consumers: [{ Peer: 'west' }] }];
    const entry = { Kind: 'exported-services', Name: 'default', Services };
    assert.equal((await b.request('PUT', '/v1/config', { token, body: entry })).text, 'true');
    const untilImported = (...expected: readonly string[]): Promise<void> =>
      until(
        `web of east is ${expected.join()}`,
        async () => (await instances(west, 'web', 'east')).join() === expected.join(),
        TAKEOVER_MS,
      );
    await untilImported('a/web:0 passing', 'b/web:0 passing');
    await a.stop('SIGKILL');
    await untilImported('a/web:0 critical', 'b/web:0 passing');
    stack.use(await start('a'));
    await untilImported('a/web:0 passing', 'b/web:0 passing');
  });

  test('become critical after their TTL when the server that runs the job is killed [SVC-53] [SVC-56]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = serversOf();
    const names = ['a', 'b'];
    const servers: Server[] = [];
    for (const name of names) servers.push(stack.use(await start(name)));
    const token = servers[0]?.token ?? '';
    const members = names.map((name) => ({ name, incarnation: '' }));
    const worker = rendezvous('due-checks', members) ?? '';
    const other = names.find((name) => name !== worker) ?? '';
    const survivor = servers[names.indexOf(other)] as Server; // It is one of the two.
    await registerWithAgent(survivor, token, { Name: 'first', Check: { TTL: '500ms', Status: 'passing' } });
    await untilChecks(survivor, token, 'first', [`${other} passing`, `${other} critical TTL expired`]);
    await servers[names.indexOf(worker)]?.stop('SIGKILL');
    await registerWithAgent(survivor, token, { Name: 'second', Check: { TTL: '500ms', Status: 'passing' } });
    await untilChecks(survivor, token, 'second', [`${other} passing`, `${other} critical TTL expired`]);
  });

  test('wake blocking queries on other servers [SVC-2]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = serversOf();
    const a = stack.use(await start('a'));
    const b = stack.use(await start('b'));
    const { token } = a;
    const { headers } = await b.request('GET', '/v1/health/service/web', { token });
    const path = `/v1/health/service/web?index=${headers['x-service-index']}&wait=2m`;
    const blockingQuery = b.request('GET', path, { token });
    await untilQueriesWait(b, 1);
    const body = { Node: 'n1', Address: '10.0.0.1', Service: { Service: 'web' } };
    assert.equal((await a.request('PUT', '/v1/catalog/register', { token, body })).text, 'true');
    assert.equal((await blockingQuery).json<Entry[]>().length, 1);
    // Concurrent registrations on one new node.
    const both = await Promise.all(
      [a, b].flatMap((server, i) =>
        [0, 1, 2, 3].map((j) =>
          server.request('PUT', '/v1/catalog/register', {
            token,
            body: { Node: 'n2', Address: '10.0.0.2', Service: { Service: `s${i}${j}` } },
          }),
        ),
      ),
    );
    assert.deepEqual([...new Set(both.map(({ status, text }) => `${status} ${text}`))], ['200 true']);
    const node = await b.request('GET', '/v1/catalog/node/n2', { token });
    assert.equal(Object.keys(node.json<{ Services: object }>().Services).length, 8);
  });
});
