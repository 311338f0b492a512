/** Deletes a peering while the other cluster is down, and checks the record after that cluster has restarted. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, isActive, isTerminated } from './clusters.ts';
import type { SideName } from './crash-points.ts';

export interface DeletionScenario {
  /** Knows the peer as `west`. */
  readonly accepting: Cluster;
  /** Knows the peer as `east`. */
  readonly dialing: Cluster;
  readonly deletingSide: SideName;
  /** How long the other cluster is down. */
  readonly downMs: number;
}

/** The longest pause between two dials [STREAM-92], and time for a busy machine. */
const REPORT_MS_MAX = 64_000 + 20_000;

/** Requires two peered clusters, and peers them again at the end. */
export async function deleteWhilePeerDown({
  accepting,
  dialing,
  deletingSide: deleter,
  downMs: awayMs,
}: DeletionScenario): Promise<void> {
  const [deleting, other, name, nameOfDeleting] =
    deleter === 'accepting'
      ? ([accepting, dialing, 'west', 'east'] as const)
      : ([dialing, accepting, 'east', 'west'] as const);
  await other.kill();
  assert.equal((await deleting.request('DELETE', `/v1/peering/${name}`)).status, 200);
  // The tombstone survives a restart.
  await deleting.kill();
  await deleting.start();
  await delay(awayMs);
  await other.start();
  const terminated = await other.untilRecord(nameOfDeleting, isTerminated, REPORT_MS_MAX);
  assert.equal(terminated.DeletedAt, undefined);
  assert.equal(terminated.Failing, undefined);
  await deleting.untilRecord(name, (record) => record === undefined);

  const token = await accepting.generate('west');
  const answer = await dialing.establish('east', token);
  assert.equal(answer.status, 200, answer.text);
  const records = [await accepting.untilRecord('west', isActive), await dialing.untilRecord('east', isActive)];
  assert.equal(records[1]?.PeerID, records[0]?.ID);
}
