/** Tests of nodes, leases, and status rows on a real etcd. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Transport } from '@connectrpc/connect';
import { grpcLink, type Link } from '../../src/state/engine/etcd/client/transport.ts';
import { isStateError } from '../../src/state/errors.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { startProxy } from '../support/proxy.ts';
import { createEtcdNode, type EtcdNode, openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const names = (node: EtcdNode): string[] => node.liveNodes.map(({ name }) => name).sort();

/** Opens real connections that run `after` between the response to a unary request and its delivery to the caller. */
function delayResponses(after: (request: object) => Promise<void>): (endpoint: string) => Link {
  return (endpoint) => {
    const link = grpcLink(endpoint, undefined);
    const transport: Transport = {
      async unary(method, signal, timeoutMs, header, input, contextValues) {
        const answer = await link.transport.unary(method, signal, timeoutMs, header, input, contextValues);
        await after(input);
        return answer;
      },
      stream: (...call) => link.transport.stream(...call),
    };
    return { transport, drop: (reason) => link.drop(reason) };
  };
}

describe('nodes on etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  test('nodes see each other join and leave, with their status rows [ETCD-66] [ETCD-76]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'come/', name: 'a' });
    {
      await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'come/', name: 'b/ü' });
      await until('both see both', () => names(a).length === 2 && names(b).length === 2);
      b.engine.publish('s', 'here');
      await until('its status row is received', () => a.statuses.get('b/ü/s') === 'here');
    }
    await until(
      'a node that closes leaves at once, with its status row',
      () => names(a).length === 1 && a.statuses.size === 0,
    );
  });

  test('open fails with name-taken after one lease, and names the holder [ETCD-68]', async () => {
    // The first lease outlasts the wait of the second node.
    await using first = await openEtcdNode({ endpoints: etcd.urls, prefix: 'taken/', name: 'same', leaseMs: 60_000 });
    const incarnation = first.liveNodes[0]?.incarnation ?? '';
    await using second = createEtcdNode({ endpoints: etcd.urls, prefix: 'taken/', name: 'same', leaseMs: 2_000 });
    await assert.rejects(second.open(), (error) => {
      assert.ok(isStateError(error, 'name-taken'));
      assert.match(error.message, /"same"/);
      assert.ok(error.message.includes(incarnation));
      return true;
    });
    assert.equal(await first.commit([put('x', '1')]), 'committed');
  });

  test('a node that was suspended while it waited for its name reads the holder once more [ETCD-68]', async () => {
    await using first = await openEtcdNode({ endpoints: etcd.urls, prefix: 'still/', name: 'same' });
    const clock = createFakeClock();
    let wasSuspended = false;
    const connect = delayResponses(async (request) => {
      const isOfName = 'key' in request && Buffer.from(request.key as Uint8Array).toString() === 'still/nodes/same';
      if (wasSuspended || !isOfName) return;
      // The response still names the holder, but is delivered long after the holder left.
      wasSuspended = true;
      await first[Symbol.asyncDispose]();
      clock.advance(60_000);
    });
    const settings = { endpoints: etcd.urls, prefix: 'still/', name: 'same', leaseMs: 10_000 };
    await using second = createEtcdNode({ ...settings, clock, connect });
    let joined = false;
    const opening = second.open().then(() => {
      joined = true;
    });
    const passing = until('it has joined', async () => {
      await clock.run(100);
      return joined;
    });
    await Promise.race([opening, passing]);
    assert.deepEqual([wasSuspended, joined], [true, true]);
  });

  test('a node takes the name of a dead node when its lease has expired', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using dead = await openEtcdNode({ endpoints: [proxy.url], prefix: 'dead/', name: 'a', leaseMs: 2_000 });
    await dead.commit([put('x', '1')]);
    proxy.silence();
    // Its wait is longer than a busy etcd needs to expire the lease, and its own lease outlasts the wait of the first.
    await using next = await openEtcdNode({ endpoints: etcd.urls, prefix: 'dead/', name: 'a', leaseMs: 10_000 });
    assert.deepEqual(names(next), ['a']);
    assert.equal(next.rows.get('t/x'), '1');
    await until('the first node has lost its lease', () => dead.liveNodes.length === 0);
    proxy.heal();
    await until('the first node must end [ETCD-73]', () => isStateError(dead.fatal, 'name-taken'), 15_000);
  });

  // Verifies [ETCD-71].
  test('a node whose lease was revoked joins again with a new incarnation and its status rows [ETCD-72]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'again/', name: 'a', leaseMs: 6_000 });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'again/', name: 'b' });
    const before = a.liveNodes.find(({ name }) => name === 'a')?.incarnation;
    a.engine.publish('s', 'v');
    await until('the status row is received', () => b.statuses.get('a/s') === 'v');
    const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('again/nodes/a') })) as { kvs: { lease: string }[] };
    // Without this, the node could join again before the other one has seen it leave.
    proxy.silence();
    await etcd.call('/v3/lease/revoke', { ID: kvs[0]?.lease });
    await until('it has left', () => b.statuses.size === 0 && names(b).length === 1);
    proxy.heal();
    await until('it has joined again', () => names(b).length === 2 && b.statuses.get('a/s') === 'v');
    assert.notEqual(b.liveNodes.find(({ name }) => name === 'a')?.incarnation, before);
    assert.equal(await a.commit([put('x', '1')]), 'committed');
  });

  // Verifies [STATE-89].
  test('a node that cannot reach etcd counts its lease as lost before etcd expires it [ETCD-70]', async () => {
    const leaseMs = 60_000;
    const clock = createFakeClock();
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'cut/', name: 'a', leaseMs, clock });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'cut/', name: 'b' });
    await until('both are live', async () => {
      await clock.run(0);
      return names(a).length === 2;
    });
    proxy.silence();
    await clock.run(leaseMs / 2);
    assert.deepEqual(names(a), ['a', 'b'], 'the lease is still valid');
    // Hardly any of this time has passed for etcd, so the node is early by most of the lease.
    await clock.run(leaseMs / 2 - 1);
    assert.deepEqual(names(a), ['b'], 'it is missing from its own list');
    assert.deepEqual(names(b), ['a', 'b']);
    const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('cut/nodes/a') })) as { kvs: { lease: string }[] };
    await etcd.call('/v3/lease/revoke', { ID: kvs[0]?.lease });
    await until('etcd ends the lease', () => names(b).join() === 'b');
    proxy.heal();
    await until('it joins again', async () => {
      await clock.run(10);
      return names(a).length === 2 && names(b).length === 2;
    });
    assert.deepEqual(a.breaks, []);
  });

  test('the lease has leaseMs rounded up to whole seconds [ETCD-67]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'rounded/', name: 'a', leaseMs: 5_001 });
    assert.deepEqual(names(a), ['a']);
    const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('rounded/nodes/a') })) as {
      kvs: { lease: string }[];
    };
    const { grantedTTL } = (await etcd.call('/v3/lease/timetolive', { ID: kvs[0]?.lease })) as { grantedTTL: string };
    assert.equal(grantedTTL, '6');
  });

  test('a node record that cannot be read is a live node with unknown formats [ETCD-75]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'unreadable/', name: 'a' });
    await etcd.call('/v3/kv/put', { key: base64('unreadable/nodes/b'), value: base64('not JSON') });
    await until('the record is received', () => names(a).length === 2);
    assert.deepEqual(a.formats, { t: 1 });
  });

  test('a node that reads less than the store contains stops following, and no commit of it is made [ETCD-90]', async () => {
    const settings = { endpoints: etcd.urls, prefix: 'raised/' };
    await using older = await openEtcdNode({ ...settings, name: 'older' });
    await using newer = await openEtcdNode({ ...settings, name: 'newer', readable: { t: 2 } });
    await until('both write the older format', () => newer.formats['t'] === 1 && older.liveNodes.length === 2);
    assert.equal(await newer.commit([put('x', '1')]), 'committed');
    assert.deepEqual([older.breaks, newer.formats], [[], { t: 1 }]);
    const { epoch, index: base } = newer.head;
    const raising = { epoch, base, operations: [put('x', '2')], formats: { t: 2 } };
    assert.equal(await newer.engine.commit(raising, AbortSignal.timeout(20_000)), 'committed');
    assert.equal(await older.commit([put('x', '3')]), 'conflict');
    await until('it has noticed', () => older.breaks.some((reason) => /format 2, .* up to 1: .*upgrade/.test(reason)));
    assert.equal(await older.commit([put('x', '3')]), 'conflict');
    await assert.rejects(older.load(), (error) => isStateError(error, 'corrupt'));
    await assert.rejects(older.engine.head(AbortSignal.timeout(20_000)), (error) => isStateError(error, 'unavailable'));
    assert.deepEqual(newer.formats, { t: 2 }, 'a live node that reads less does not lower the format');
    await using another = createEtcdNode({ ...settings, name: 'another' });
    await assert.rejects(another.open(), (error) => isStateError(error, 'corrupt'));
    assert.equal(newer.rows.get('t/x'), '2');
  });

  test('a status row is put at once, and then at most every 10 s [ETCD-77]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'often/', name: 'a' });
    const version = async (): Promise<string | undefined> => {
      const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('often/status/a/s') })) as {
        kvs?: { version: string }[];
      };
      return kvs?.[0]?.version;
    };
    a.engine.publish('s', 'v0');
    await until('the first value is put', async () => (await version()) === '1');
    for (let count = 1; count < 50; count += 1) a.engine.publish('s', `v${count}`);
    await a.commit([put('x', '1')]);
    assert.equal(await version(), '1');
  });
});
