/** Two and three whole servers on one etcd. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntryJson } from '../../src/audit/read-audit.ts';
import type { ShownToken } from '../../src/credentials/acl-token.ts';
import { rendezvous } from '../../src/state/jobs/placement.ts';
import { freePort } from '../support/free-port.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { type EtcdServerOptions, startEtcdServer } from '../support/process/etcd-server.ts';
import { untilHeld } from '../support/process/held-queries.ts';
import { type Server, StartError } from '../support/process/server.ts';
import { startClients } from '../support/process/storm-clients.ts';
import { createRandom } from '../support/random.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** A dead node's lease, and what a busy machine adds. */
const TAKEOVER_MS = 20_000;

describe('servers on one etcd', { skip: skipWithout('etcd'), timeout: 120_000, concurrency: 2 }, () => {
  let etcd: EtcdCluster;
  let prefixes = 0;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  /** Starts servers of their own cluster, one after another: the first one has the credentials. */
  const startServers = async (stack: AsyncDisposableStack, ...names: string[]): Promise<readonly Server[]> => {
    const start = cluster();
    const servers: Server[] = [];
    for (const name of names) servers.push(stack.use(await start({ name })));
    return servers;
  };
  const cluster = (): ((options: Omit<EtcdServerOptions, 'endpoints'>) => Promise<Server>) => {
    const prefix = `cluster-${++prefixes}/`;
    return ({ settings, ...options }) =>
      startEtcdServer({ ...options, endpoints: etcd.urls, settings: { 'etcd.prefix': prefix, ...settings } });
  };

  test('a list has no lower index on a server that has followed for longer than on one started later', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const older = stack.use(await start({ name: 'older' }));
    const { token } = older;
    // The list of partitions does not change while other things do.
    for (let i = 0; i < 3; i++) await older.request('PUT', '/v1/acl/token', { body: { Description: `token ${i}` } });
    const newer = stack.use(await start({ name: 'newer' }));
    let index = 0;
    for (const server of [newer, older, newer, older]) {
      const { headers } = await server.request('GET', '/v1/partitions', { token });
      assert.ok(Number(headers['x-service-index']) >= index, `${headers['x-service-index']} came after ${index}`);
      index = Number(headers['x-service-index']);
    }
  });

  test('a write on one wakes blocking queries on the others, and ends those of a token that it deletes', async () => {
    await using stack = new AsyncDisposableStack();
    const [a, b, c] = (await startServers(stack, 'a', 'b', 'c')) as [Server, Server, Server];
    const { token } = a;
    const others = [b, c];
    const made = await a.request('PUT', '/v1/acl/token', {
      body: { Grants: [{ Resource: 'operator', Access: 'read', Partition: '*' }] },
    });
    const { AccessorID, SecretID = '' } = made.json<ShownToken>();
    const hold = (server: Server, secret: string) =>
      server
        .request('GET', '/v1/partitions', { token: secret })
        .then(({ headers }) =>
          server.request('GET', `/v1/partitions?index=${headers['x-service-index']}&wait=2m`, { token: secret }),
        );
    const own = others.map((server) => hold(server, token));
    const doomed = others.map((server) => hold(server, SecretID));
    for (const server of others) await untilHeld(server, 2);
    await a.request('DELETE', `/v1/acl/token/${AccessorID}`);
    for (const { status, text } of await Promise.all(doomed)) assert.deepEqual([status, text], [403, 'ACL not found']);
    for (const server of others) await untilHeld(server, 1);
    const partition = await a.request('PUT', '/v1/partition/eu', { body: {} });
    for (const { status, text } of await Promise.all(own)) {
      assert.equal(status, 200);
      assert.ok(text.includes(partition.text));
    }
  });

  test('the background jobs of one that is killed go on at another', async () => {
    await using stack = new AsyncDisposableStack();
    const names = ['a', 'b', 'c'];
    const servers = await startServers(stack, ...names);
    const token = servers[0]?.token ?? '';
    const members = names.map((name) => ({ name, incarnation: '', formats: {} }));
    const worker = servers[names.indexOf(rendezvous('expiry acl-tokens', members) ?? '')];
    const survivor = servers.find((server) => server !== worker) as Server; // There are three.
    const isExpired = async (accessorId: string): Promise<boolean> => {
      const audit = await survivor.request('GET', '/v1/audit', { token });
      if (audit.status === 503) return false;
      return audit
        .json<AuditEntryJson[]>()
        .some(({ Action, Subject }) => Action === 'expire' && Subject === accessorId);
    };
    const makeToken = async (): Promise<string> => {
      const body = { ExpirationTTL: '500ms' };
      return (await survivor.request('PUT', '/v1/acl/token', { body, token })).json<ShownToken>().AccessorID;
    };
    const first = await makeToken();
    await until('an expired token is removed', () => isExpired(first), TAKEOVER_MS);
    await worker?.stop('SIGKILL');
    const second = await makeToken();
    await until('it is removed without the one that did so', () => isExpired(second), TAKEOVER_MS);
  });

  test('of one name: the second waits for the first to go, and ends with 2 naming it when it does not', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    // A lease that a busy machine keeps alive for longer than the second one waits, and whose end the third one awaits.
    const first = stack.use(await start({ name: 'same', settings: { 'node.lease': '5s' } }));
    await assert.rejects(start({ name: 'same' }), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.exitCode, 2);
      const holder = /the node name \\"same\\" is held by another live server \(incarnation [0-9a-f-]{36}, since .*\)/;
      assert.match(error.log, holder);
      assert.match(error.log, /node\.name/);
      assert.equal(error.log.trim().split('\n').length, 1, 'one line says it all');
      return true;
    });
    assert.equal((await first.request('GET', '/v1/partitions')).status, 200, 'the first one goes on');
    const waiting = start({ name: 'same', settings: { 'node.lease': '10s' } });
    await first.stop('SIGKILL');
    const second = stack.use(await waiting);
    assert.equal((await second.request('GET', '/v1/partitions', { token: first.token })).status, 200);
  });

  test('whose name another took while it was frozen: ends with 2 when it goes on, naming the holder', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const first = stack.use(await start({ name: 'same' }));
    const ended = once(first.process, 'close');
    first.process.kill('SIGSTOP');
    // Longer than the first one waits for the name when it goes on.
    const second = stack.use(await start({ name: 'same', settings: { 'node.lease': '10s' } }));
    first.process.kill('SIGCONT');
    assert.deepEqual(await ended, [2, null]);
    assert.match(first.log(), /"reason":"the node name \\"same\\" is held by another live server/);
    assert.equal((await second.request('GET', '/v1/partitions', { token: first.token })).status, 200);
  });

  test('killed in turn under concurrent writes: nothing acknowledged is lost, no index falls', async (context) => {
    const start = cluster();
    const names = ['a', 'b', 'c'];
    const ports = await Promise.all(names.map(() => freePort()));
    const startOne = (at: number, settings: EtcdServerOptions['settings'] = {}) =>
      start({ name: names[at] ?? '', settings: { 'http.address': `127.0.0.1:${ports[at]}`, ...settings } });
    const servers: Server[] = [];
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      for (const server of servers) await server[Symbol.asyncDispose]();
    });
    for (let at = 0; at < names.length; at += 1) servers.push(await startOne(at));
    await using clients = startClients({
      addresses: servers.map(({ address }) => address),
      token: servers[0]?.token ?? '',
      random: createRandom(2),
    });
    for (let round = 0; round < names.length; round += 1) {
      await Promise.race([delay(300), clients.failure]);
      await servers[round]?.[Symbol.asyncDispose]();
      // It waits for its name for longer than a busy etcd needs to end the lease of the one that was killed.
      servers[round] = await startOne(round, { 'node.lease': '10s' }); // Disposed of twice if this fails, which does no harm.
    }
    await clients.stop();
    await clients.verify();
    assert.ok(clients.counts.done > 30);
    context.diagnostic(JSON.stringify(clients.counts));
  });
});
