/** Cuts every connection between two peered clusters after a random number of bytes, while their CA roots rotate. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { FaultProxy } from '../proxy.ts';
import type { Random } from '../random.ts';
import { streamEpoch } from '../state/stored-rows.ts';
import { until } from '../until.ts';
import { type Cluster, isActive } from './clusters.ts';
import { watchRecord } from './record-watch.ts';
import { trackRotations } from './rotation-tracker.ts';

/** Bytes until a stream is ACTIVE. Most of them belong to the TLS handshake. */
const HANDSHAKE_BYTES = 6_500;
/** Further bytes until a stream has sent all its resources. */
const SYNC_BYTES = 3_000;
/** The share of connections that are cut before ACTIVE. It is low because a doubling pause follows each. */
const EARLY_CUT_PROBABILITY = 0.1;
/** The longest pause between two dials [STREAM-92], and time for a busy machine. */
const RECONNECT_MS_MAX = 64_000 + 20_000;

export interface CutStorm {
  readonly ms: number;
  readonly random: Random;
  /** Knows the peer as `west`. */
  readonly accepting: Cluster;
  /** Knows the peer as `east`. */
  readonly dialing: Cluster;
  /** Carries all connections between the two. */
  readonly proxy: FaultProxy;
}

export interface CutStormCounts {
  readonly streams: number;
  readonly rotations: number;
  readonly recordChanges: number;
}

/** Runs the storm. Fails when a record or an applied resource goes back, or when the clusters do not reconnect. */
export async function runCutStorm({ ms, random, accepting, dialing, proxy }: CutStorm): Promise<CutStormCounts> {
  const watches = [watchRecord(accepting, 'west'), watchRecord(dialing, 'east')];
  const rotations = [await trackRotations(accepting, dialing), await trackRotations(dialing, accepting)];
  const epochs = [await streamEpoch(dialing)];
  let rotationCount = 0;
  const randomBytes = (): number =>
    random.chance(EARLY_CUT_PROBABILITY)
      ? 1 + random.below(HANDSHAKE_BYTES)
      : HANDSHAKE_BYTES + random.below(SYNC_BYTES);
  // At least one rotation, even on a busy machine.
  await random.pick(rotations).toggle();
  rotationCount += 1;
  proxy.cutAfter(randomBytes);
  proxy.cut();
  for (const end = performance.now() + ms; performance.now() < end; ) {
    if (random.chance(0.3)) {
      await random.pick(rotations).toggle();
      rotationCount += 1;
    }
    await Promise.all(rotations.map((each) => each.observe()));
    epochs.push(await streamEpoch(dialing));
    await delay(random.below(200));
  }
  proxy.cutAfter(undefined);
  const lastEpoch = await streamEpoch(dialing);
  proxy.cut();
  await until('a new stream opens', async () => (await streamEpoch(dialing)) > lastEpoch, RECONNECT_MS_MAX);
  await accepting.untilRecord('west', isActive);
  await dialing.untilRecord('east', isActive);
  for (const each of [...rotations, ...watches]) await each.verify();
  assert.deepEqual(
    epochs,
    epochs.toSorted((a, b) => a - b),
    'the stream epoch never decreases [PEER-75]',
  );
  return {
    streams: (epochs.at(-1) ?? 0) - (epochs[0] ?? 0),
    rotations: rotationCount,
    recordChanges: watches.reduce((sum, { records }) => sum + records.length, 0),
  };
}
