/** Kills either of two clusters at some crash points of a peering. `peering-crash.long.ts` tests all of them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isActive, peerClusters, startCluster } from '../support/peering/clusters.ts';
import { type CrashClusters, testCrash } from '../support/peering/crash-peering.ts';
import {
  type CrashPoint,
  type CrashStep,
  chunkPoints,
  describePoint,
  RECORD_POINTS,
  REGRESSION_POINTS,
} from '../support/peering/crash-points.ts';
import { tokenForProxy } from '../support/peering/peering-requests.ts';
import { startProxy } from '../support/proxy.ts';
import { createRandom } from '../support/random.ts';
import { until } from '../support/until.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
/** The number of random crash points of each step. */
const RANDOM_POINTS: readonly (readonly [CrashStep, number])[] = [
  ['establish', 3],
  ['establish again', 2],
  ['delete, accepting side', 1],
  ['delete, dialing side', 1],
  ['report the deletion, accepting side', 1],
  ['report the deletion, dialing side', 1],
];

function randomPoints(): CrashPoint[] {
  const random = createRandom(SEED);
  return RANDOM_POINTS.flatMap(([step, count]) => {
    const points = chunkPoints(step);
    return Array.from({ length: count }, () => random.pick(points));
  });
}

describe('a peering when a server is killed', { timeout: 280_000 }, () => {
  let clusters: CrashClusters;
  let reservedAtMs = 0;
  before(async () => {
    const settings = { 'limits.stream-handshake': '1s' };
    const [accepting, dialing] = await Promise.all([startCluster({ settings }), startCluster({ settings })]);
    clusters = { accepting, dialing };
  });
  after(() => Promise.all(Object.values(clusters ?? {}).map((each) => each[Symbol.asyncDispose]())));

  it('keeps only the reservation when the dialing side is killed during the exchange [PEER-54]', async () => {
    const { accepting, dialing } = clusters;
    await using proxy = await startProxy(accepting.peeringPort);
    const token = tokenForProxy(await accepting.generate('held'), proxy);
    proxy.silence();
    const answered = dialing.establish('held', token).catch(() => undefined);
    await until('the exchange has started', () => proxy.connections > 0);
    await dialing.kill();
    reservedAtMs = performance.now();
    assert.equal(await answered, undefined);
    await dialing.start();
    assert.equal(await dialing.record('held'), undefined);
    const again = await dialing.establish('held', token);
    assert.deepEqual([again.status, again.text], [409, 'peering "held" is being established']);
  });

  it('is INITIAL on the side that restarts first, and ACTIVE after both have restarted [PEER-30]', async () => {
    const { accepting, dialing } = clusters;
    await peerClusters(accepting, dialing, { to: 'both', from: 'both' });
    for (const [first, second] of [
      [accepting, dialing],
      [dialing, accepting],
    ] as const) {
      await Promise.all([first.kill(), second.kill()]);
      await first.start();
      const record = await first.record('both');
      assert.equal(record?.State, 'INITIAL');
      assert.match(
        record?.Failing?.Reason ?? '',
        /^the server "[^"]+", which held the stream, is gone$|: connection refused$/,
      );
      await second.start();
      await Promise.all([first.untilRecord('both', isActive, 20_000), second.untilRecord('both', isActive, 20_000)]);
    }
  });

  for (const point of [...RECORD_POINTS, ...REGRESSION_POINTS, ...randomPoints()].map((each, i) => ({ each, i }))) {
    it(`${describePoint(point.each)} (SEED=${SEED})`, () => testCrash(clusters, point.each, `p${point.i}`));
  }

  it('releases the reservation of a killed establish after 30 seconds [PEER-54]', async () => {
    const { accepting, dialing } = clusters;
    const token = await accepting.generate('held');
    let status = 0;
    const isFree = async (): Promise<boolean> => {
      ({ status } = await dialing.establish('held', token));
      return status !== 409;
    };
    await until('the reservation has expired', isFree, Math.max(0, reservedAtMs + 30_000 - performance.now()) + 5_000);
    assert.equal(status, 200);
  });
});
