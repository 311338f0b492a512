/** The attacks of `peering-hostile.test.ts` for a longer time. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  BACKOFF_MS_MIN,
  IMPORT_BYTES_BURST,
  IMPORT_BYTES_PER_SECOND,
  STREAM_OPENS_BURST,
} from '../../src/peering/limits.ts';
import { type Cluster, isFailing, peerClusters, startCluster } from '../support/peering/clusters.ts';
import { monitorCluster, openHostileStream, resourceResponse } from '../support/peering/hostile-peer.ts';
import { dialRaw, exchangeToken } from '../support/peering/raw-peer.ts';

const ATTACK_MS = 10_000;
/** Log lines of one stream: its start and its end. */
const STREAM_LINES = 2;

describe('a hostile dialing peer over 10 seconds', { timeout: 300_000 }, () => {
  let victim: Cluster;
  let friend: Cluster;
  before(async () => {
    const settings = { 'limits.stream-handshake': '3s', 'peering.heartbeat-timeout': '10s' };
    [victim, friend] = await Promise.all([startCluster({ settings }), startCluster({ settings })]);
    await peerClusters(victim, friend, { to: 'friend', from: 'victim' });
  });
  after(() => Promise.all([victim, friend].map((cluster) => cluster?.[Symbol.asyncDispose]())));

  /** Runs `once` repeatedly in parallel loops for the duration of the attack. @returns the number of runs */
  async function attack(attackers: number, once: () => Promise<void>): Promise<number> {
    const endAt = performance.now() + ATTACK_MS;
    let count = 0;
    const go = async (): Promise<void> => {
      for (; performance.now() < endAt; count += 1) await once();
    };
    await Promise.all(Array.from({ length: attackers }, go));
    return count;
  }

  it('does not disturb other peerings when it connects as fast as it can', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    const connections = await attack(16, async () => {
      const dialer = await dialRaw(victim.peeringAddress).catch(() => undefined);
      dialer?.call().send({ heartbeat: {} });
      dialer?.[Symbol.dispose]();
    });
    assert.ok(connections > 500, `${connections} connections`);
    await check(0);
  });

  it('does not disturb other peerings when it leaves its connections open', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    const dialers: Disposable[] = [];
    await attack(8, async () => {
      const dialer = await dialRaw(victim.peeringAddress).catch(() => undefined);
      if (dialer !== undefined) dialers.push(dialer);
    });
    for (const dialer of dialers) dialer[Symbol.dispose]();
    await check(0);
  });

  it('does not disturb other peerings when it opens streams as fast as it can [STREAM-29]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    const open = await exchangeToken(victim.peeringAddress, await victim.generate('opener'));
    await attack(8, async () => {
      using dialer = await dialRaw(victim.peeringAddress);
      const call = dialer.call();
      call.send({ open });
      await Promise.race([call.responseEnded, delay(20)]);
    });
    await check(2 * (STREAM_OPENS_BURST + (2 * ATTACK_MS) / BACKOFF_MS_MIN));
  });

  it('does not disturb other peerings when it guesses establishment secrets', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using dialer = await dialRaw(victim.peeringAddress);
    let connection = dialer;
    await attack(1, async () => {
      if (connection.session.destroyed) connection = await dialRaw(victim.peeringAddress);
      await connection.exchange(crypto.randomUUID(), crypto.randomUUID()).catch(() => undefined);
    });
    connection[Symbol.dispose]();
    await check(0);
  });

  it('does not disturb other peerings when it sends services of the maximum size', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using peer = await openHostileStream(victim, 'large');
    const nodes = Array.from({ length: 4_000 }, (_, i) => ({
      Node: { Node: `node-${i}` },
      Service: { Service: 'large', Meta: { text: 'x'.repeat(1_000) } },
    }));
    let nonces = 0;
    await attack(1, async () => {
      nonces += 1;
      await peer.sendAndAwaitAnswer(
        resourceResponse('service', `large-${nonces % 4}`, { Nodes: nodes }, `n${nonces}`),
        `n${nonces}`,
      );
    });
    assert.ok(nonces > 3, `${nonces} services`);
    await check(2);
  });

  it('writes at the rate of IMPORT_BYTES_PER_SECOND when it changes its services over and over [STREAM-96]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using peer = await openHostileStream(victim, 'churn');
    const startMs = performance.now();
    let version = 0;
    await attack(16, async () => {
      version += 1;
      const name = `s${version % 64}`;
      const Nodes = Array.from({ length: 2_000 }, (_, i) => ({
        Node: { Node: `n${i}`, Address: `10.${version % 256}.0.1` },
        Service: { Service: name },
      }));
      peer.call.send(resourceResponse('service', name, { Nodes }, String(version)));
      await delay(peer.call.stream.writableNeedDrain ? 20 : 0);
    });
    const { text } = await victim.request('GET', '/metrics');
    const written = Number(/^accord_peering_import_bytes_total\{[^}]*peering="churn"[^}]*\} (\d+)/m.exec(text)?.[1]);
    const seconds = (performance.now() - startMs) / 1_000;
    assert.ok(written > IMPORT_BYTES_PER_SECOND, `${written} bytes`);
    assert.ok(written < IMPORT_BYTES_BURST + (seconds + 5) * IMPORT_BYTES_PER_SECOND, `${written} in ${seconds} s`);
    peer[Symbol.dispose]();
    await victim.untilRecord('churn', isFailing);
    await check(STREAM_LINES);
  });
});
