/** Two and three servers on one etcd. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntryJson } from '../../src/audit/read-audit.ts';
import type { AclTokenJson } from '../../src/credentials/acl-token-to-json.ts';
import { rendezvous } from '../../src/state/jobs/placement.ts';
import { freePort } from '../support/free-port.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { type EtcdServerOptions, startEtcdServer } from '../support/process/etcd-server.ts';
import { startLoadClients } from '../support/process/load-clients.ts';
import { type Server, StartError } from '../support/process/server.ts';
import { untilQueriesWait } from '../support/process/waiting-queries.ts';
import { createRandom } from '../support/random.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** The lease of a dead node plus a tolerance for a busy machine. */
const TAKEOVER_MS = 20_000;

describe('servers on one etcd', { skip: skipWithout('etcd'), timeout: 120_000, concurrency: 2 }, () => {
  let etcd: EtcdCluster;
  let prefixes = 0;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  /** Starts the servers of a new cluster one after another. The first server has the credentials file. */
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

  test('return no lower index for a list than another server did before [V1-75, STATE-75]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const older = stack.use(await start({ name: 'older' }));
    const { token } = older;
    // Tokens change, and the list of partitions does not.
    for (let i = 0; i < 3; i++) await older.request('PUT', '/v1/acl/token', { body: { Description: `token ${i}` } });
    const newer = stack.use(await start({ name: 'newer' }));
    let index = 0;
    for (const server of [newer, older, newer, older]) {
      const { headers } = await server.request('GET', '/v1/partitions', { token });
      assert.ok(Number(headers['x-service-index']) >= index, `${headers['x-service-index']} follows ${index}`);
      index = Number(headers['x-service-index']);
    }
  });

  test('wake blocking queries after writes on another server, and end those of a deleted token [V1-79]', async () => {
    await using stack = new AsyncDisposableStack();
    const [a, b, c] = (await startServers(stack, 'a', 'b', 'c')) as [Server, Server, Server];
    const { token } = a;
    const others = [b, c];
    const created = await a.request('PUT', '/v1/acl/token', {
      body: { Grants: [{ Resource: 'operator', Access: 'read', Partition: '*' }] },
    });
    const { AccessorID, SecretID = '' } = created.json<AclTokenJson>();
    const startQuery = (server: Server, secret: string) =>
      server
        .request('GET', '/v1/partitions', { token: secret })
        .then(({ headers }) =>
          server.request('GET', `/v1/partitions?index=${headers['x-service-index']}&wait=2m`, { token: secret }),
        );
    const continuing = others.map((server) => startQuery(server, token));
    const ending = others.map((server) => startQuery(server, SecretID));
    for (const server of others) await untilQueriesWait(server, 2);
    await a.request('DELETE', `/v1/acl/token/${AccessorID}`);
    for (const { status, text } of await Promise.all(ending)) assert.deepEqual([status, text], [403, 'ACL not found']);
    for (const server of others) await untilQueriesWait(server, 1);
    const partition = await a.request('PUT', '/v1/partition/eu', { body: {} });
    for (const { status, text } of await Promise.all(continuing)) {
      assert.equal(status, 200);
      assert.ok(text.includes(partition.text));
    }
  });

  test('take over the background jobs of a killed server [SRV-34]', async () => {
    await using stack = new AsyncDisposableStack();
    const names = ['a', 'b', 'c'];
    const servers = await startServers(stack, ...names);
    const token = servers[0]?.token ?? '';
    const members = names.map((name) => ({ name, incarnation: '' }));
    const worker = servers[names.indexOf(rendezvous('expiry acl-tokens', members) ?? '')];
    const survivor = servers.find((server) => server !== worker) as Server; // The cluster has three servers.
    const isExpired = async (accessorId: string): Promise<boolean> => {
      const audit = await survivor.request('GET', '/v1/audit', { token });
      if (audit.status === 503) return false;
      return audit
        .json<AuditEntryJson[]>()
        .some(({ Action, Subject }) => Action === 'expire' && Subject === accessorId);
    };
    const makeToken = async (): Promise<string> => {
      const body = { ExpirationTTL: '500ms' };
      return (await survivor.request('PUT', '/v1/acl/token', { body, token })).json<AclTokenJson>().AccessorID;
    };
    const first = await makeToken();
    await until('an expired token is removed', () => isExpired(first), TAKEOVER_MS);
    await worker?.stop('SIGKILL');
    const second = await makeToken();
    await until('another server removes an expired token', () => isExpired(second), TAKEOVER_MS);
  });

  test('wait for a node name in use, and exit with code 2 and its holder if it is not released [SRV-84]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    // The lease is longer than the second server waits for the name, and shorter than the third server waits.
    const first = stack.use(await start({ name: 'same', settings: { 'node.lease': '5s' } }));
    await assert.rejects(start({ name: 'same' }), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.exitCode, 2);
      const holder = /the node name \\"same\\" is held by another live server \(incarnation [0-9a-f-]{36}, since .*\)/;
      assert.match(error.log, holder);
      assert.match(error.log, /node\.name/);
      assert.equal(error.log.match(/"level":"error"/g)?.length, 1, 'the log has one error');
      return true;
    });
    assert.equal((await first.request('GET', '/v1/partitions')).status, 200, 'the first server is unaffected');
    const waiting = start({ name: 'same', settings: { 'node.lease': '10s' } });
    await first.stop('SIGKILL');
    const second = stack.use(await waiting);
    assert.equal((await second.request('GET', '/v1/partitions', { token: first.token })).status, 200);
  });

  test('exit with code 2 if another server took their node name while they were frozen [SRV-84]', async () => {
    await using stack = new AsyncDisposableStack();
    const start = cluster();
    const first = stack.use(await start({ name: 'same' }));
    const closed = once(first.process, 'close');
    first.process.kill('SIGSTOP');
    // The lease is longer than the first server waits for the name.
    const second = stack.use(await start({ name: 'same', settings: { 'node.lease': '10s' } }));
    first.process.kill('SIGCONT');
    assert.deepEqual(await closed, [2, null]);
    assert.match(first.log(), /"reason":"the node name \\"same\\" is held by another live server/);
    assert.equal((await second.request('GET', '/v1/partitions', { token: first.token })).status, 200);
  });

  // Verifies [STATE-8].
  test('lose no acknowledged write and decrease no index when they are killed in turn [STATE-1]', async (context) => {
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
    await using clients = startLoadClients({
      addresses: servers.map(({ address }) => address),
      token: servers[0]?.token ?? '',
      random: createRandom(2),
    });
    for (let round = 0; round < names.length; round += 1) {
      await Promise.race([delay(300), clients.failure]);
      await servers[round]?.[Symbol.asyncDispose]();
      // With this lease, the server waits for its name until a busy etcd has revoked the lease of the killed server.
      // If the start fails, the killed server is disposed twice, which is harmless.
      servers[round] = await startOne(round, { 'node.lease': '10s' });
    }
    await clients.stop();
    await clients.verify();
    assert.ok(clients.counts.acknowledged > 30);
    context.diagnostic(JSON.stringify(clients.counts));
  });
});
