/** Kills either of two clusters at every crash point of a peering. */
import { after, before, describe, it } from 'node:test';
import { startCluster } from '../support/peering/clusters.ts';
import { type CrashClusters, testCrash } from '../support/peering/crash-peering.ts';
import {
  CRASH_STEPS,
  type CrashPoint,
  chunkPoints,
  describePoint,
  RECORD_POINTS,
} from '../support/peering/crash-points.ts';

describe('a peering when a server is killed', () => {
  let clusters: CrashClusters;
  before(async () => {
    const settings = { 'limits.stream-handshake': '1s' };
    const [accepting, dialing] = await Promise.all([startCluster({ settings }), startCluster({ settings })]);
    clusters = { accepting, dialing };
  });
  after(() => Promise.all(Object.values(clusters ?? {}).map((each) => each[Symbol.asyncDispose]())));

  const points: readonly CrashPoint[] = [...RECORD_POINTS, ...CRASH_STEPS.flatMap(chunkPoints)];
  for (const [i, point] of points.entries()) {
    it(describePoint(point), () => testCrash(clusters, point, `p${i}`));
  }
});
