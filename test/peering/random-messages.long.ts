/** `random-messages.test.ts` with 200,000 messages to one server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peerClusters, startCluster } from '../support/peering/clusters.ts';
import { monitorCluster, residentBytes } from '../support/peering/hostile-peer.ts';
import { sendRandomMessages } from '../support/peering/random-messages.ts';

const ROUNDS = 20;
const MESSAGES = 10_000;
/** The first rounds fill caches and compile code. */
const WARM_ROUNDS = 5;
const GROWTH_BYTES_MAX = 100 * 1024 * 1024;

test(`${ROUNDS * MESSAGES} random messages of a peer disturb nothing, and memory does not grow`, async () => {
  const settings = { 'log.level': 'warn' };
  await using victim = await startCluster({ settings });
  await using friend = await startCluster({ settings });
  await peerClusters(victim, friend, { to: 'friend', from: 'victim' });
  const { check } = await monitorCluster(victim, 'friend');
  let warmBytes = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    await sendRandomMessages(victim, round, MESSAGES);
    const bytes = await residentBytes(victim);
    if (round === WARM_ROUNDS) warmBytes = bytes;
    assert.ok(bytes < warmBytes + GROWTH_BYTES_MAX, `${bytes} bytes after round ${round}, ${warmBytes} before`);
  }
  await check(ROUNDS * MESSAGES);
});
