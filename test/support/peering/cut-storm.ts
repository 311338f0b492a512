/** Two peered clusters whose every connection is cut after a random number of bytes, while their certificate authorities change. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { FaultProxy } from '../proxy.ts';
import type { Random } from '../random.ts';
import { streamEpoch } from '../state/stored-rows.ts';
import { until } from '../until.ts';
import { type Cluster, isActive } from './clusters.ts';
import { watchRecord } from './record-watch.ts';
import { rotationsOf } from './rotations.ts';

/** After so many bytes a stream is ACTIVE, most of them of its TLS handshake. */
const ACTIVE_BYTES = 6_500;
/** So many more, and it has said all that it has to say. */
const SAID_BYTES = 3_000;
/** How many streams do not come to be ACTIVE: fewer than others, as a pause that doubles follows each. */
const SHARE_BEFORE_ACTIVE = 0.1;
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
  const draw = (): number =>
    random.chance(SHARE_BEFORE_ACTIVE) ? 1 + random.below(ACTIVE_BYTES) : ACTIVE_BYTES + random.below(SAID_BYTES);
  // There is something to tell however few turns a busy machine has time for.
  await random.pick(rotations).turn();
  turns += 1;
  proxy.cutAfter(draw);
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
  const last = await streamEpoch(dialing);
  proxy.cut();
  await until('there is another stream', async () => (await streamEpoch(dialing)) > last, COMES_BACK_MS);
  await accepting.untilRecord('west', isActive);
  await dialing.untilRecord('east', isActive);
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
