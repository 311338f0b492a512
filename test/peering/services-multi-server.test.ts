/** The catalog and the local agents of several whole servers on one etcd. */
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

/** A dead node's lease, and what a busy machine adds. */
const TAKEOVER_MS = 30_000;

/** An instance as health shows it; what these tests look at. */
interface Entry {
  readonly Node: { readonly Node: string };
  readonly Checks: readonly { readonly Status: string; readonly Output: string }[];
}

describe('services on several servers', { skip: skipWithout('etcd'), timeout: 180_000, concurrency: 2 }, () => {
  let etcd: EtcdCluster;
  let prefixes = 0;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  /** How servers of one cluster of their own are started. */
  const cluster = (further: Readonly<Record<string, string>> = {}): ((name: string) => Promise<Server>) => {
    // Longer than a busy machine lets a server wait for its turn: the services of one without its lease are critical.
    const settings = { 'etcd.prefix': `services-${++prefixes}/`, 'node.lease': '5s', ...further };
    return (name) => startEtcdServer({ name, endpoints: etcd.urls, settings });
  };

  /** What a server says of a service: `node status output` of each check. */
  async function said(server: Server, token: string, service: string): Promise<string[]> {
    const answer = await server.request('GET', `/v1/health/service/${service}`, { token });
    assert.equal(answer.status, 200, answer.text);
    return answer
      .json<Entry[]>()
      .flatMap(({ Node, Checks }) => Checks.map(({ Status, Output }) => `${Node.Node} ${Status} ${Output}`.trim()));
  }

  const untilSaid = (server: Server, token: string, service: string, expected: readonly string[]): Promise<void> =>
    until(
      `${service} is ${expected.join()}`,
      async () => (await said(server, token, service)).join() === expected.join(),
      TAKEOVER_MS,
    );

  async function withAgent(server: Server, token: string, body: unknown): Promise<void> {
    const answer = await server.request('PUT', '/v1/agent/service/register', { token, body });
    assert.equal(answer.status, 200, answer.text);
  }

  test('of one that is killed are critical at the others, and come back with it', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const a = stack.use(await start('a'));
    const b = stack.use(await start('b'));
    const { token } = a;
    const check = { TTL: '1h', Status: 'passing' };
    for (const server of [a, b]) await withAgent(server, token, { Name: 'web', Check: check });
    const all = ['a passing', 'a passing', 'b passing', 'b passing'];
    // Each has its node, and none is lost; one that is for a moment, on a busy machine, comes back.
    await untilSaid(b, token, 'web', all);
    await a.stop('SIGKILL');
    await untilSaid(b, token, 'web', ['a critical node lost', 'a critical node lost', 'b passing', 'b passing']);
    stack.use(await start('a'));
    await untilSaid(b, token, 'web', all);
  });

  test('of one that is killed are critical in another cluster too, though it held the stream', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster({ 'peering.heartbeat-interval': '1s', 'peering.heartbeat-timeout': '4s' });
    const a = stack.use(await start('a'));
    const west = stack.use(await startCluster({ settings: { 'cluster.datacenter': 'dc2' } }));
    const { token } = a;
    const peerName = { PeerName: 'west' };
    const made = await a.request('POST', '/v1/peering/token', { token, body: peerName });
    const { PeeringToken } = made.json<{ PeeringToken: string }>();
    assert.equal((await west.establish('east', PeeringToken)).status, 200);
    await west.untilRecord('east', isActive);
    // The stream is at the first one, the only one there was; the dialing side is told of the second.
    const b = stack.use(await start('b'));
    await west.untilRecord('east', (record) => record?.PeerServerAddresses?.length === 2, TAKEOVER_MS);
    const check = { TTL: '1h', Status: 'passing' };
    for (const server of [a, b]) await withAgent(server, token, { Name: 'web', Check: check });
    const Services = [{ Name: 'web', Consumers: [{ Peer: 'west' }] }];
    const entry = { Kind: 'exported-services', Name: 'default', Services };
    assert.equal((await b.request('PUT', '/v1/config', { token, body: entry })).text, 'true');
    const untilThere = (...expected: readonly string[]): Promise<void> =>
      until(
        `web of east is ${expected.join()}`,
        async () => (await instances(west, 'web', 'east')).join() === expected.join(),
        TAKEOVER_MS,
      );
    await untilThere('a/web:0 passing', 'b/web:0 passing');
    await a.stop('SIGKILL');
    await untilThere('a/web:0 critical', 'b/web:0 passing');
    stack.use(await start('a'));
    await untilThere('a/web:0 passing', 'b/web:0 passing');
  });

  test('become critical in time when the one that sees to it is killed', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const names = ['a', 'b'];
    const servers: Server[] = [];
    for (const name of names) servers.push(stack.use(await start(name)));
    const token = servers[0]?.token ?? '';
    const members = names.map((name) => ({ name, incarnation: '', formats: {} }));
    const worker = rendezvous('due-checks', members) ?? '';
    const other = names.find((name) => name !== worker) ?? '';
    const survivor = servers[names.indexOf(other)] as Server; // It is one of the two.
    await withAgent(survivor, token, { Name: 'first', Check: { TTL: '500ms', Status: 'passing' } });
    await untilSaid(survivor, token, 'first', [`${other} passing`, `${other} critical TTL expired`]);
    await servers[names.indexOf(worker)]?.stop('SIGKILL');
    await withAgent(survivor, token, { Name: 'second', Check: { TTL: '500ms', Status: 'passing' } });
    await untilSaid(survivor, token, 'second', [`${other} passing`, `${other} critical TTL expired`]);
  });

  test('that are registered at one answer queries that wait at another', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const a = stack.use(await start('a'));
    const b = stack.use(await start('b'));
    const { token } = a;
    const { headers } = await b.request('GET', '/v1/health/service/web', { token });
    const path = `/v1/health/service/web?index=${headers['x-service-index']}&wait=2m`;
    const held = b.request('GET', path, { token });
    await untilQueriesWait(b, 1);
    const body = { Node: 'n1', Address: '10.0.0.1', Service: { Service: 'web' } };
    assert.equal((await a.request('PUT', '/v1/catalog/register', { token, body })).text, 'true');
    assert.equal((await held).json<Entry[]>().length, 1);
    // At once, of one node that neither knew: one of them makes it.
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
