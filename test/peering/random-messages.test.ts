/**
 * Random messages of a hostile peer. The server answers or ends the stream, imports what it accepted and
 * nothing that it refused, and its other peerings are not disturbed. `random-messages.long.ts` sends many more.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peerClusters, startCluster } from '../support/peering/clusters.ts';
import { monitorCluster } from '../support/peering/hostile-peer.ts';
import { sendRandomMessages } from '../support/peering/random-messages.ts';

const MESSAGES = 5_000;
const SEED = 7;

test(`${MESSAGES} random messages of a peer disturb nothing [STREAM-42]`, async () => {
  const settings = { 'log.level': 'warn' };
  await using victim = await startCluster({ settings });
  await using friend = await startCluster({ settings });
  await peerClusters(victim, friend, { to: 'friend', from: 'victim' });
  const { check } = await monitorCluster(victim, 'friend');
  const outcome = await sendRandomMessages(victim, SEED, MESSAGES);
  // The messages must lead to each kind of result often enough.
  const { accepted, refused, imported, streamsEnded } = outcome;
  const isThorough = accepted > MESSAGES / 3 && refused > MESSAGES / 20 && imported > 20 && streamsEnded > 3;
  assert.ok(isThorough, JSON.stringify(outcome));
  await check(MESSAGES);
});
