/** Two peered clusters whose every connection is cut after a random number of bytes, while their certificate authorities change. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, isActive } from './clusters.ts';
import type { FaultProxy } from './proxy.ts';
import type { Random } from './random.ts';
import { watchRecord } from './record-watch.ts';
import { rotationsOf } from './rotations.ts';
import { streamEpoch } from './stored-rows.ts';

/** A stream is ACTIVE after some 6 kB, most of it the TLS handshake, and has said all that it has to say after 10. */
const BYTES_MAX = 12_000;
/** The longest pause between two attempts, and what a busy machine adds. */
const COMES_BACK_MS = 64_000 + 20_000;

export interface CutStorm {
  readonly ms: number;
  readonly random: Random;
  /** It knows the other one as `west`. */
  readonly accepting: Cluster;
  /** It knows the other one as `east`. */
  readonly dialing: Cluster;
  /** The only way between them. */
  readonly proxy: FaultProxy;
}

export interface CutStormCounts {
  readonly streams: number;
  readonly rotations: number;
  readonly changesSeen: number;
}

/** Fails where a record or what was applied went back, and where they do not come back when it is over. */
export async function runCutStorm({ ms, random, accepting, dialing, proxy }: CutStorm): Promise<CutStormCounts> {
  const watches = [watchRecord(accepting, 'west'), watchRecord(dialing, 'east')];
  const rotations = [await rotationsOf(accepting, dialing), await rotationsOf(dialing, accepting)];
  const epochs = [await streamEpoch(dialing)];
  let turns = 0;
  proxy.cutAfter(() => 1 + random.below(BYTES_MAX));
  proxy.cut();
  for (const end = performance.now() + ms; performance.now() < end; ) {
    if (random.chance(0.3)) {
      await random.pick(rotations).turn();
      turns += 1;
    }
    await Promise.all(rotations.map((each) => each.look()));
    epochs.push(await streamEpoch(dialing));
    await delay(random.below(200));
  }
  proxy.cutAfter(undefined);
  proxy.cut();
  await Promise.all([
    accepting.untilRecord('west', isActive, COMES_BACK_MS),
    dialing.untilRecord('east', isActive, COMES_BACK_MS),
  ]);
  for (const each of [...rotations, ...watches]) await each.end();
  assert.deepEqual(
    epochs,
    epochs.toSorted((a, b) => a - b),
    'an epoch is never given back',
  );
  return {
    streams: (epochs.at(-1) ?? 0) - (epochs[0] ?? 0),
    rotations: turns,
    changesSeen: watches.reduce((sum, { seen }) => sum + seen.length, 0),
  };
}
