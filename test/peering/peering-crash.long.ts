/** Either of two clusters killed at every point of a peering's life. */
import { after, before, describe, it } from 'node:test';
import { startCluster } from '../support/peering/clusters.ts';
import { type CrashClusters, crashPeering } from '../support/peering/crash-peering.ts';
import { type CrashPoint, describePoint, piecePoints, RECORD_POINTS, STEPS } from '../support/peering/crash-points.ts';

describe('two clusters of which one is killed', () => {
  let clusters: CrashClusters;
  before(async () => {
    const settings = { 'limits.stream-handshake': '1s' };
    const [accepting, dialing] = await Promise.all([startCluster({ settings }), startCluster({ settings })]);
    clusters = { accepting, dialing };
  });
  after(() => Promise.all(Object.values(clusters ?? {}).map((each) => each[Symbol.asyncDispose]())));

  const points: readonly CrashPoint[] = [...RECORD_POINTS, ...STEPS.flatMap(piecePoints)];
  for (const [i, point] of points.entries()) {
    it(describePoint(point), () => crashPeering(clusters, point, `p${i}`));
  }
});
