/** Either of two clusters killed at points of a peering's life. All points: `peering-crash.long.ts`. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isActive, peerClusters, startCluster } from '../support/peering/clusters.ts';
import { type CrashClusters, crashPeering } from '../support/peering/crash-peering.ts';
import {
  type CrashPoint,
  describePoint,
  FOUND_POINTS,
  piecePoints,
  RECORD_POINTS,
  type Step,
} from '../support/peering/crash-points.ts';
import { tokenThrough } from '../support/peering/edited-token.ts';
import { startProxy } from '../support/proxy.ts';
import { createRandom } from '../support/random.ts';
import { until } from '../support/until.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
/** Points that are tried of each step. */
const DRAWN: readonly (readonly [Step, number])[] = [
  ['establish', 3],
  ['establish again', 2],
  ['delete, accepting side', 1],
  ['delete, dialing side', 1],
  ['tell of a deletion, accepting side', 1],
  ['tell of a deletion, dialing side', 1],
];

function drawnPoints(): CrashPoint[] {
  const random = createRandom(SEED);
  return DRAWN.flatMap(([step, count]) => {
    const points = piecePoints(step);
    return Array.from({ length: count }, () => random.pick(points));
  });
}

describe('two clusters of which one is killed', { timeout: 280_000 }, () => {
  let clusters: CrashClusters;
  let heldSince = 0;
  before(async () => {
    const settings = { 'limits.stream-handshake': '1s' };
    const [accepting, dialing] = await Promise.all([startCluster({ settings }), startCluster({ settings })]);
    clusters = { accepting, dialing };
  });
  after(() => Promise.all(Object.values(clusters ?? {}).map((each) => each[Symbol.asyncDispose]())));

  it('between the hold of a name and the end of the exchange: the name is held, and nothing else is there', async () => {
    const { accepting, dialing } = clusters;
    await using proxy = await startProxy(accepting.peeringPort);
    const token = tokenThrough(await accepting.generate('held'), proxy);
    proxy.silence();
    const asked = dialing.establish('held', token).catch(() => undefined);
    await until('the exchange has begun', () => proxy.connections > 0);
    await dialing.kill();
    heldSince = performance.now();
    assert.equal(await asked, undefined);
    await dialing.start();
    assert.equal(await dialing.record('held'), undefined);
    const again = await dialing.establish('held', token);
    assert.deepEqual([again.status, again.text], [409, 'peering "held" is being established']);
  });

  it('both: who is started first says that its stream is gone, until there is another one', async () => {
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

  for (const point of [...RECORD_POINTS, ...FOUND_POINTS, ...drawnPoints()].map((each, i) => ({ each, i }))) {
    it(`${describePoint(point.each)} (SEED=${SEED})`, () => crashPeering(clusters, point.each, `p${point.i}`));
  }

  it('gives a name that was held by who died free after half a minute', async () => {
    const { accepting, dialing } = clusters;
    const token = await accepting.generate('held');
    let status = 0;
    const isFree = async (): Promise<boolean> => {
      ({ status } = await dialing.establish('held', token));
      return status !== 409;
    };
    await until('the name is free', isFree, Math.max(0, heldSince + 30_000 - performance.now()) + 5_000);
    assert.equal(status, 200);
  });
});
