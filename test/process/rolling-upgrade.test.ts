/** A server that is suspended past its lease while the others are upgraded to a version with newer row formats. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import { type Server, StartError } from '../support/process/server.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const NEWER_VERSION = new URL('../support/process/newer-version.ts', import.meta.url).href;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface UpgradedCluster extends AsyncDisposable {
  readonly older: Server;
  readonly newer: Server;
  /** Starts a server of the older version under the name of `older`. */
  startOlder(): Promise<Server>;
  /** Returns the value of a key in etcd, undefined if it is missing. */
  read(key: string): Promise<string | undefined>;
  remove(key: string): Promise<void>;
  /** Writes the partition `eu` through the newer server. @returns the format in which it is stored */
  writtenFormat(): Promise<number>;
}

describe('a server that was suspended past its lease during an upgrade', {
  skip: skipWithout('etcd'),
  timeout: 120_000,
  concurrency: 2,
}, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  async function startUpgraded(name: string): Promise<UpgradedCluster> {
    await using stack = new AsyncDisposableStack();
    const settings = { 'etcd.prefix': `${name}/` };
    const startOlder = (): Promise<Server> => startEtcdServer({ endpoints: etcd.urls, name: 'older', settings });
    const older = stack.use(await startOlder());
    const environment = { NODE_OPTIONS: `--import=${NEWER_VERSION}` };
    const newer = stack.use(await startEtcdServer({ endpoints: etcd.urls, name: 'newer', settings, environment }));
    const { token } = older;
    const servers = stack.move();
    const read = async (key: string): Promise<string | undefined> => {
      const { kvs } = (await etcd.call('/v3/kv/range', { key: base64(`${name}/${key}`) })) as {
        kvs?: { value: string }[];
      };
      return kvs?.[0] && Buffer.from(kvs[0].value, 'base64').toString();
    };
    let writes = 0;
    return {
      older,
      newer,
      startOlder: async () => servers.use(await startOlder()),
      read,
      remove: async (key) => void (await etcd.call('/v3/kv/deleterange', { key: base64(`${name}/${key}`) })),
      async writtenFormat() {
        const body = { Name: 'eu', Description: `${++writes}` };
        const answer = await newer.request('PUT', '/v1/partition/eu', { body, token });
        assert.equal(answer.status, 200, answer.text);
        const [format] = JSON.parse((await read('gen/0/partitions/eu')) ?? '') as [number];
        return format;
      },
      [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
    };
  }

  async function suspendPastLease({ older, read }: UpgradedCluster): Promise<void> {
    older.process.kill('SIGSTOP');
    await until('its lease has expired', async () => (await read('nodes/older')) === undefined);
  }

  // Verifies [STATE-29].
  test('returns, because the others wrote only formats that it reads [ETCD-89]', async () => {
    await using cluster = await startUpgraded('returns');
    const { older, read } = cluster;
    await suspendPastLease(cluster);
    assert.equal(await cluster.writtenFormat(), 1);
    older.process.kill('SIGCONT');
    const found = await older.request('GET', '/v1/partition/eu');
    assert.deepEqual([found.status, found.json<{ Description: string }>().Description], [200, '1']);
    await until('it has joined again', async () => (await read('nodes/older')) !== undefined);
    const body = { Name: 'us' };
    assert.equal((await older.request('PUT', '/v1/partition/us', { body })).status, 200);
    assert.equal(await cluster.writtenFormat(), 1);
    assert.equal(await older.stop(), 0);
    assert.equal(await read('formats/older'), undefined);
    await until('the newer format is written', async () => (await cluster.writtenFormat()) === 2);
  });

  test('ends with the remedy if the others have written a newer format, and cannot undo the upgrade [ETCD-90]', async () => {
    await using cluster = await startUpgraded('ends');
    const { older, newer, read } = cluster;
    const { token } = older;
    await suspendPastLease(cluster);
    // As housekeeping does after 10 min.
    await cluster.remove('formats/older');
    await until('the newer format is written', async () => (await cluster.writtenFormat()) === 2);
    const write = older.request('PUT', '/v1/partition/us', { body: { Name: 'us' } }).catch(() => undefined);
    const reading = older.request('GET', '/v1/partition/eu').catch(() => undefined);
    const ended = once(older.process, 'exit');
    older.process.kill('SIGCONT');
    assert.notEqual((await write)?.status, 200, 'it acknowledged a write');
    assert.notEqual((await reading)?.status, 200, 'it answered with an old row');
    const remedy = /table 'partitions' in format 2, but this version reads up to 1: .*upgrade this server/;
    assert.deepEqual((await ended)[0], 1, older.log());
    assert.match(older.log(), remedy);
    await assert.rejects(
      cluster.startOlder(),
      (error) => error instanceof StartError && error.exitCode === 1 && remedy.test(error.log),
    );
    assert.equal(await read('formats/older'), undefined);
    assert.equal(await cluster.writtenFormat(), 2);
    assert.equal((await newer.request('GET', '/v1/partition/us', { token })).status, 404);
  });
});
