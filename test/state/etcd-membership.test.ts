/** Nodes, their leases and their status rows on a real etcd. */
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
const names = (node: EtcdNode): string[] => node.members.map(({ name }) => name).sort();

/** Opens real connections, on which `after` runs between the answer to a unary request and whoever waits for it. */
function answered(after: (request: object) => Promise<void>): (endpoint: string) => Link {
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

  test('members come and go, with what they say of themselves', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'come/', name: 'a' });
    {
      await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'come/', name: 'b/ü' });
      await until('both see both', () => names(a).length === 2 && names(b).length === 2);
      assert.deepEqual(a.members.find(({ name }) => name === 'b/ü')?.formats, { t: 1 });
      b.engine.publish('s', 'here');
      await until('its status', () => a.statuses.get('b/ü/s') === 'here');
    }
    await until(
      'a node that closes is gone at once, with its status',
      () => names(a).length === 1 && a.statuses.size === 0,
    );
  });

  test('a name that is held is refused after one lease, naming its holder', async () => {
    // However long the second one waits, the first one's lease lasts.
    await using first = await openEtcdNode({ endpoints: etcd.urls, prefix: 'taken/', name: 'same', leaseMs: 60_000 });
    const incarnation = first.members[0]?.incarnation ?? '';
    await using second = createEtcdNode({ endpoints: etcd.urls, prefix: 'taken/', name: 'same', leaseMs: 2_000 });
    await assert.rejects(second.open(), (error) => {
      assert.ok(isStateError(error, 'name-taken'));
      assert.match(error.message, /"same"/);
      assert.ok(error.message.includes(incarnation));
      return true;
    });
    assert.equal(await first.commit([put('x', '1')]), 'committed');
  });

  test('a node that stands still while it waits for its name asks once more before it gives up', async () => {
    await using first = await openEtcdNode({ endpoints: etcd.urls, prefix: 'still/', name: 'same' });
    const clock = createFakeClock();
    let stoodStill = false;
    const connect = answered(async (request) => {
      const isOfName = 'key' in request && Buffer.from(request.key as Uint8Array).toString() === 'still/nodes/same';
      if (stoodStill || !isOfName) return;
      // It was told that the name is held, and goes on when that is long past.
      stoodStill = true;
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
    assert.deepEqual([stoodStill, joined], [true, true]);
  });

  test('the name of a node that died is free when its lease has run out', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using dead = await openEtcdNode({ endpoints: [proxy.url], prefix: 'dead/', name: 'a', leaseMs: 2_000 });
    await dead.commit([put('x', '1')]);
    proxy.silence();
    // It waits for longer than a busy etcd needs to end the lease, and keeps its own for longer than the first one waits.
    await using next = await openEtcdNode({ endpoints: etcd.urls, prefix: 'dead/', name: 'a', leaseMs: 10_000 });
    assert.deepEqual(names(next), ['a']);
    assert.equal(next.rows.get('t/x'), '1');
    await until('the first one is told that its name is gone', () => dead.members.length === 0);
    proxy.heal();
    await until('and must end', () => isStateError(dead.fatal, 'name-taken'), 15_000);
  });

  test('a lease that etcd took is won again, with a new incarnation and the status', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'again/', name: 'a', leaseMs: 6_000 });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'again/', name: 'b' });
    const before = a.members.find(({ name }) => name === 'a')?.incarnation;
    a.engine.publish('s', 'v');
    await until('the status', () => b.statuses.get('a/s') === 'v');
    const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('again/nodes/a') })) as { kvs: { lease: string }[] };
    // Or it could be back before anybody has seen that it was gone.
    proxy.silence();
    await etcd.call('/v3/lease/revoke', { ID: kvs[0]?.lease });
    await until('it is gone', () => b.statuses.size === 0 && names(b).length === 1);
    proxy.heal();
    await until('it is back', () => names(b).length === 2 && b.statuses.get('a/s') === 'v');
    assert.notEqual(b.members.find(({ name }) => name === 'a')?.incarnation, before);
    assert.equal(await a.commit([put('x', '1')]), 'committed');
  });

  test('a node that cannot reach etcd counts its lease as lost before etcd does', async () => {
    const leaseMs = 60_000;
    const clock = createFakeClock();
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'cut/', name: 'a', leaseMs, clock });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'cut/', name: 'b' });
    await until('both are there', async () => {
      await clock.run(0);
      return names(a).length === 2;
    });
    proxy.silence();
    await clock.run(leaseMs / 2);
    assert.deepEqual(names(a), ['a', 'b'], 'there is time left');
    // For etcd hardly any of this time has passed: what is left of its lease is the time by which the node is early.
    await clock.run(leaseMs / 2 - 1);
    assert.deepEqual(names(a), ['b'], 'it does not count itself');
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

  test('a status row is put at once and then no oftener than every ten seconds', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'often/', name: 'a' });
    const version = async (): Promise<string | undefined> => {
      const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('often/status/a/s') })) as {
        kvs?: { version: string }[];
      };
      return kvs?.[0]?.version;
    };
    a.engine.publish('s', 'v0');
    await until('the first', async () => (await version()) === '1');
    for (let count = 1; count < 50; count += 1) a.engine.publish('s', `v${count}`);
    await a.commit([put('x', '1')]);
    assert.equal(await version(), '1');
  });
});
