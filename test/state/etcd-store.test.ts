/** Tests of import and housekeeping on a real etcd. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/state/clock/clock.ts';
import type { StoredRow } from '../../src/state/engine/engine.ts';
import { createEtcdClient } from '../../src/state/engine/etcd/client/client.ts';
import { readKey } from '../../src/state/engine/etcd/client/requests.ts';
import { createKeys } from '../../src/state/engine/etcd/keys.ts';
import { createHousekeeping } from '../../src/state/engine/etcd/node/housekeeping.ts';
import { isStateError } from '../../src/state/errors.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { createEtcdNode, type EtcdNode, openEtcdNode, put, testOptions } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** Time after which a test that waits for etcd fails. */
const TEST_TIMEOUT_MS = 30_000;

const CLUSTER = '00000000-0000-4000-8000-000000000001';

async function* pages(count: number, pageSize: number): AsyncGenerator<StoredRow[]> {
  for (let start = 0; start < count; start += pageSize) {
    yield Array.from({ length: pageSize }, (_, at) => ({ table: 't', key: `${start + at}`, value: 'imported' }));
  }
}

describe('the store in etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  const keysBelow = async (prefix: string): Promise<string[]> => {
    const range = {
      key: Buffer.from(prefix).toString('base64'),
      range_end: Buffer.from(`${prefix.slice(0, -1)}0`).toString('base64'),
    };
    const { kvs = [] } = (await etcd.call('/v3/kv/range', { ...range, keys_only: true })) as {
      kvs?: { key: string }[];
    };
    return kvs.map(({ key }) => Buffer.from(key, 'base64').toString().slice(prefix.length));
  };

  // Verifies [ETCD-64].
  test('an import fills an empty store and sets the head; other nodes load the rows [ETCD-62] [ETCD-63]', async () => {
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'import/', name: 'b' });
    await using a = createEtcdNode({ endpoints: etcd.urls, prefix: 'import/', name: 'a' });
    await a.open();
    const importInto = (node: EtcdNode, rows: AsyncIterable<StoredRow[]>): Promise<void> =>
      node.engine.import({ cluster: CLUSTER, epoch: 3, index: 700 }, rows, AbortSignal.timeout(TEST_TIMEOUT_MS));
    await importInto(a, pages(2_000, 500));
    assert.deepEqual(await a.load(), { cluster: CLUSTER, epoch: 3, index: 700 });
    assert.equal(a.rows.size, 2_000);
    await until('the other node must load', () => b.breaks.length === 1);
    await b.load();
    assert.deepEqual(b.rows, a.rows);
    await a.write(() => [put('x', '1')]);
    await until('it follows', () => b.head.index === 701);
    await using c = createEtcdNode({ endpoints: etcd.urls, prefix: 'import/', name: 'c' });
    await c.open();
    await assert.rejects(importInto(c, pages(10, 10)), (error) => isStateError(error, 'not-empty'));
  });

  test('an import sends small transactions although a commit may be large [ETCD-64]', async () => {
    await using node = createEtcdNode({ endpoints: etcd.urls, prefix: 'large/', name: 'a', maxTxnBytes: 16 * 2 ** 20 });
    await node.open();
    // Four times as much as this etcd accepts in a request.
    const value = 'x'.repeat(100_000);
    const rows = Array.from({ length: 60 }, (_, at): StoredRow => ({ table: 't', key: `${at}`, value }));
    async function* page(): AsyncGenerator<StoredRow[]> {
      yield rows;
    }
    const head = { cluster: CLUSTER, epoch: 3, index: 700 };
    await node.engine.import(head, page(), AbortSignal.timeout(TEST_TIMEOUT_MS));
    await node.load();
    assert.equal(node.rows.size, 60);
  });

  // Verifies [ETCD-16] [ETCD-83].
  test('a failed import leaves the store empty, and housekeeping deletes its rows after a commit [ETCD-65]', async () => {
    await using a = createEtcdNode({ endpoints: etcd.urls, prefix: 'failed/', name: 'a' });
    await a.open();
    async function* failing(): AsyncGenerator<StoredRow[]> {
      yield* pages(500, 500);
      throw new Error('the file ends early');
    }
    const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
    const head = { cluster: CLUSTER, epoch: 1, index: 9 };
    await assert.rejects(a.engine.import(head, failing(), signal), /the file ends early/);
    assert.equal((await a.load()).index, 1);
    assert.equal(a.rows.size, 0);
    await a.write(() => [put('x', '1')]);
    const stop = new AbortController();
    const housekeeping = a.engine.housekeep?.(stop.signal);
    await until('the rows are deleted', async () => (await keysBelow('failed/gen/')).join() === '0/t/x');
    stop.abort();
    await housekeeping;
  });

  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  test('housekeeping deletes the formats of a node that does not return, and others then write newer ones [ETCD-89]', async () => {
    const settings = { endpoints: etcd.urls, prefix: 'gone/' };
    const put = (key: string, value: object): Promise<unknown> =>
      etcd.call('/v3/kv/put', { key: base64(`gone/${key}`), value: base64(JSON.stringify(value)) });
    const older = await openEtcdNode({ ...settings, name: 'older' });
    await using newer = await openEtcdNode({ ...settings, name: 'newer', readable: { t: 2 } });
    await older[Symbol.asyncDispose]();
    await until('it has left', () => newer.formats['t'] === 2);
    await put('formats/older', { incarnation: 'o', formats: { t: 1 } });
    await until('its formats count', () => newer.formats['t'] === 1);
    const clock = createFakeClock();
    const client = createEtcdClient({ ...testOptions(settings), clock: systemClock });
    const keys = createKeys('gone/', new Set());
    const housekeep = createHousekeeping({ client, keys, clock, log: () => undefined, compactMs: 'off' });
    const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
    for (let minutes = 0; minutes < 10; minutes += 1) {
      await housekeep(signal);
      clock.advance(60_000);
    }
    assert.deepEqual(await keysBelow('gone/formats/'), ['newer', 'older']);
    await housekeep(signal);
    assert.deepEqual(await keysBelow('gone/formats/'), ['newer']);
    await until('newer formats are written', () => newer.formats['t'] === 2);
    client.close();
  });

  test('housekeeping compacts old history and deletes writer keys of vanished nodes [ETCD-81] [ETCD-82]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'old/', name: 'a' });
    {
      await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'old/', name: 'b', leaseMs: 2_000 });
      await b.write(() => [put('x', '1')]);
      await until('both are live', () => a.liveNodes.length === 2);
    }
    // The retention of its writer key starts when housekeeping first sees the node missing.
    await until('it has left', () => a.liveNodes.length === 1);
    const clock = createFakeClock();
    const compactMs = 10 * 60_000;
    const client = createEtcdClient({ ...testOptions({ endpoints: etcd.urls }), clock: systemClock });
    const log = (): void => undefined;
    const housekeep = createHousekeeping({ client, keys: createKeys('old/', new Set()), clock, log, compactMs });
    const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
    const { revision } = (await readKey(client, Buffer.from('old/head'), signal)).header;
    const past = async (): Promise<unknown> => readKey(client, Buffer.from('old/head'), signal, revision - 1n);
    for (let minutes = 0; minutes < 10; minutes += 1) {
      await housekeep(signal);
      clock.advance(60_000);
    }
    await past();
    assert.equal((await keysBelow('old/writers/')).length, 2);
    await housekeep(signal);
    await assert.rejects(past, /compacted/);
    assert.deepEqual(
      await keysBelow('old/writers/'),
      a.liveNodes.map(({ incarnation }) => incarnation),
    );
    client.close();
  });
});
