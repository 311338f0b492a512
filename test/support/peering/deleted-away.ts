/** A peering that is deleted while the other side is away, and what that one finds when it is back. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, isActive, isTerminated } from './clusters.ts';
import type { SideName } from './crash-points.ts';

export interface DeletedAway {
  /** It knows the other one as `west`. */
  readonly accepting: Cluster;
  /** It knows the other one as `east`. */
  readonly dialing: Cluster;
  /** Which of them deletes it. */
  readonly deleter: SideName;
  /** For how long the other one is away. */
  readonly awayMs: number;
}

/** How long the dialing side can pause at the end of `awayMs`, at most, and what a busy machine adds. */
const TOLD_MS = 64_000 + 20_000;

/** The two are peered, and are so again afterwards. */
export async function deleteWhileAway({ accepting, dialing, deleter, awayMs }: DeletedAway): Promise<void> {
  const [deleting, other, name, theirs] =
    deleter === 'accepting'
      ? ([accepting, dialing, 'west', 'east'] as const)
      : ([dialing, accepting, 'east', 'west'] as const);
  await other.kill();
  assert.equal((await deleting.request('DELETE', `/v1/peering/${name}`)).status, 200);
  // What is needed to tell the other one outlives a restart.
  await deleting.kill();
  await deleting.start();
  await delay(awayMs);
  await other.start();
  const told = await other.untilRecord(theirs, isTerminated, TOLD_MS);
  assert.equal(told.DeletedAt, undefined);
  assert.equal(told.Failing, undefined);
  await deleting.untilRecord(name, (record) => record === undefined);

  const token = await accepting.generate('west');
  const answer = await dialing.establish('east', token);
  assert.equal(answer.status, 200, answer.text);
  const back = [await accepting.untilRecord('west', isActive), await dialing.untilRecord('east', isActive)];
  assert.equal(back[1]?.PeerID, back[0]?.ID);
}
