/** What the network between two peered clusters can do to them, and how they come back. The whole storm: `peering-network.long.ts`. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { type Cluster, isActive, isFailing, peerClusters, startCluster } from '../support/peering/clusters.ts';
import { runCutStorm } from '../support/peering/cut-storm.ts';
import { tokenForProxy } from '../support/peering/peering-requests.ts';
import { statesOf, watchRecord } from '../support/peering/record-watch.ts';
import { trackRotations } from '../support/peering/rotation-tracker.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { createRandom } from '../support/random.ts';
import { streamEpoch } from '../support/state/stored-rows.ts';
import { until } from '../support/until.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
const SPENT = 'a new peering token must be generated: invalid peering establishment secret';
const STORM_MS = 8_000;
/** Longer than a busy machine lets a server wait for its turn: a stream that ends by that is not one of these faults. */
const HEARTBEAT_TIMEOUT_MS = 5_000;
/** How soon a fault is noticed, and what a busy machine adds. */
const NOTICED_MS = HEARTBEAT_TIMEOUT_MS + 15_000;
/** The longest pause between two attempts, and what a busy machine adds. */
const COMES_BACK_MS = 64_000 + 20_000;

describe('two peered clusters and the network between them', { timeout: 280_000 }, () => {
  let east: Cluster;
  let west: Cluster;
  let proxy: FaultProxy;
  before(async () => {
    const settings = { 'limits.stream-handshake': '3s', 'peering.heartbeat-timeout': `${HEARTBEAT_TIMEOUT_MS}ms` };
    [east, west] = await Promise.all([startCluster({ settings }), startCluster({ settings })]);
    proxy = await startProxy(east.peeringPort);
    await peerClusters(east, west, { to: 'west', from: 'east', addresses: [`127.0.0.1:${proxy.port}`] });
  });
  after(() => Promise.all([proxy, east, west].map((each) => each?.[Symbol.asyncDispose]())));
  afterEach(() => {
    proxy.throttle(undefined);
    proxy.heal();
  });

  const bothActive = (): Promise<unknown> =>
    Promise.all([east.untilRecord('west', isActive, COMES_BACK_MS), west.untilRecord('east', isActive, COMES_BACK_MS)]);

  const faults: readonly (readonly [what: string, begin: () => void, reasons: readonly [RegExp, RegExp]])[] = [
    ['is cut', () => proxy.sever(), [/^connection lost: /, /^connection lost: |connection reset/]],
    ['takes bytes and delivers none', () => proxy.silence(), [/^heartbeat timeout$/, /heartbeat timeout$/]],
    [
      'delivers nothing to the accepting side',
      () => proxy.silence('to-server'),
      [/^heartbeat timeout$/, /heartbeat timeout$/],
    ],
    [
      'delivers nothing to the dialing side',
      () => proxy.silence('to-client'),
      [/^heartbeat timeout$|^connection lost|^closed by/, /^heartbeat timeout$/],
    ],
  ];
  for (const [what, begin, reasons] of faults) {
    it(`are INITIAL and say why while it ${what}, and come back by themselves`, async () => {
      await bothActive();
      const watches = [watchRecord(east, 'west'), watchRecord(west, 'east')] as const;
      const rotations = [await trackRotations(east, west), await trackRotations(west, east)];
      const epoch = await streamEpoch(west);
      await until('both are watched', () => watches.every(({ seen }) => seen.length > 0));

      begin();
      await Promise.all(watches.map(({ seen }) => until('it fails', () => seen.some(isFailing), NOTICED_MS)));
      for (const [i, { seen }] of watches.entries()) {
        assert.match(seen.find(isFailing)?.Failing?.Reason ?? '', reasons[i] as RegExp);
      }
      // What changes now has to arrive later, and only what it has come to.
      for (const each of rotations) for (let turns = 0; turns < 3; turns += 1) await each.toggle();

      proxy.heal();
      await bothActive();
      for (const each of [...watches, ...rotations]) await each.verify();
      for (const { seen } of watches) assert.deepEqual(statesOf(seen), ['ACTIVE', 'FAILING', 'ACTIVE']);
      assert.ok((await streamEpoch(west)) > epoch);
    });
  }

  it('hear of new server addresses when it is back', async () => {
    const second = await startProxy(east.peeringPort);
    try {
      const advertise = (...ports: number[]): Record<string, string> => ({
        'peering.advertise': ports.map((port) => `127.0.0.1:${port}`).join(),
      });
      await east.kill();
      await east.start(advertise(proxy.port));
      const token = await east.generate('west');
      assert.equal((await west.establish('east', token)).status, 200);
      await west.untilRecord('east', (record) => record?.PeerServerAddresses?.length === 1 && isActive(record));
      proxy.sever();
      await east.kill();
      const ports = [second.port, await freePort(), proxy.port];
      await east.start(advertise(...ports));
      await west.untilRecord('east', isFailing);
      proxy.heal();
      await west.untilRecord(
        'east',
        (record) => isActive(record) && record?.PeerServerAddresses?.length === ports.length,
        COMES_BACK_MS,
      );
      const addresses = (await west.record('east'))?.PeerServerAddresses;
      assert.deepEqual(addresses, advertise(...ports)['peering.advertise']?.split(','));
      const epoch = await streamEpoch(west);
      proxy.sever();
      await until('there is a stream by another way', async () => (await streamEpoch(west)) > epoch, COMES_BACK_MS);
    } finally {
      await second[Symbol.asyncDispose]();
    }
  });

  it('stay ACTIVE when it becomes slow: heartbeats get through, and all else in its time', async () => {
    const timeoutMs = 8_000;
    const patient = { 'peering.heartbeat-timeout': `${timeoutMs}ms` };
    for (const cluster of [east, west]) await cluster.kill('SIGTERM');
    const advertised = { 'peering.advertise': `127.0.0.1:${proxy.port}` };
    await Promise.all([east.start({ ...patient, ...advertised }), west.start(patient)]);
    await bothActive();
    const watches = [watchRecord(east, 'west'), watchRecord(west, 'east')];
    const rotations = [await trackRotations(east, west), await trackRotations(west, east)];
    const heard = async (): Promise<(string | undefined)[]> =>
      [await east.record('west'), await west.record('east')].map((record) => record?.StreamStatus.LastHeartbeat);
    proxy.throttle(1_000);
    const before = await heard();
    for (const each of rotations) await each.toggle();
    await delay(timeoutMs + 2_000);
    for (const [i, time] of (await heard()).entries()) assert.notEqual(time, before[i]);
    for (const each of [...rotations, ...watches]) await each.verify();
    for (const { seen } of watches) assert.deepEqual(statesOf(seen), ['ACTIVE']);
  });

  it('say what is so when it cuts every stream after random bytes', async (context: TestContext) => {
    context.diagnostic(`SEED=${SEED}`);
    await bothActive();
    const random = createRandom(SEED);
    const counts = await runCutStorm({ ms: STORM_MS, random, accepting: east, dialing: west, proxy });
    context.diagnostic(JSON.stringify(counts));
    assert.ok(counts.recordChanges > 4 && counts.rotations > 0, 'streams came and went, and had something to say');
  });

  it('are peered by another token at the worst when the answer to an establish is lost', async () => {
    // The first piece that comes back is of the TLS handshake; the request goes out before there is a second one.
    const attempts = [1, 2].map(async (lostFrom) => {
      await using way = await startProxy(east.peeringPort);
      const name = `lost-${lostFrom}`;
      const token = tokenForProxy(await east.generate(name), way);
      let pieces = 0;
      way.filterChunks((direction, chunk) => {
        if (direction === 'to-client') pieces += 1;
        return direction === 'to-client' && pieces >= lostFrom ? 0 : chunk.length;
      });
      const lost = await west.establish(name, token);
      assert.equal(lost.status, 503);
      // The accepting side ends connections that show no secret.
      assert.match(lost.text, /^127\.0\.0\.1:\d+: (no answer in time|connection reset)$/);
      assert.equal(await west.record(name), undefined);
      way.filterChunks(undefined);
      const { status, text } = await west.establish(name, token);
      if (status !== 200) {
        assert.deepEqual([status, text], [403, SPENT]);
        assert.equal((await west.establish(name, tokenForProxy(await east.generate(name), way))).status, 200);
      }
      await Promise.all([east.untilRecord(name, isActive), west.untilRecord(name, isActive)]);
      return status;
    });
    assert.deepEqual(await Promise.all(attempts), [200, 403], 'not spent yet, and spent');
  });
});
