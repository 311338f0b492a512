/** Network faults between two peered clusters, and the recovery. `peering-network.long.ts` runs longer storms. */
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
const INVALID_SECRET = 'a new peering token must be generated: invalid peering establishment secret';
const STORM_MS = 8_000;
/** Longer than a busy machine delays a server, so that no stream times out without a fault. */
const HEARTBEAT_TIMEOUT_MS = 5_000;
/** The longest time until a fault is detected, with time for a busy machine. */
const DETECTION_MS_MAX = HEARTBEAT_TIMEOUT_MS + 15_000;
/** The longest pause between two dials [STREAM-92], and time for a busy machine. */
const RECONNECT_MS_MAX = 64_000 + 20_000;

describe('a peering over a faulty network', { timeout: 280_000 }, () => {
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

  const untilBothActive = (): Promise<unknown> =>
    Promise.all([
      east.untilRecord('west', isActive, RECONNECT_MS_MAX),
      west.untilRecord('east', isActive, RECONNECT_MS_MAX),
    ]);

  const faults: readonly (readonly [fault: string, begin: () => void, reasons: readonly [RegExp, RegExp]])[] = [
    ['is cut', () => proxy.sever(), [/^connection lost: /, /^connection lost: |connection reset/]],
    ['loses all bytes', () => proxy.silence(), [/^heartbeat timeout$/, /heartbeat timeout$/]],
    [
      'loses the bytes to the accepting side',
      () => proxy.silence('to-server'),
      [/^heartbeat timeout$/, /heartbeat timeout$/],
    ],
    [
      'loses the bytes to the dialing side',
      () => proxy.silence('to-client'),
      [/^heartbeat timeout$|^connection lost|^closed by/, /^heartbeat timeout$/],
    ],
  ];
  for (const [fault, begin, reasons] of faults) {
    it(`is INITIAL with a reason while the network ${fault}, and recovers [PEER-26] [PEER-29]`, async () => {
      await untilBothActive();
      const watches = [watchRecord(east, 'west'), watchRecord(west, 'east')] as const;
      const rotations = [await trackRotations(east, west), await trackRotations(west, east)];
      const epoch = await streamEpoch(west);
      await until('both watches have the current record', () => watches.every(({ records }) => records.length > 0));

      begin();
      await Promise.all(
        watches.map(({ records }) =>
          until('the record has a failure', () => records.some(isFailing), DETECTION_MS_MAX),
        ),
      );
      for (const [i, { records }] of watches.entries()) {
        assert.match(records.find(isFailing)?.Failing?.Reason ?? '', reasons[i] as RegExp);
      }
      // The peer receives only the last of these changes, after the recovery.
      for (const each of rotations) for (let i = 0; i < 3; i += 1) await each.toggle();

      proxy.heal();
      await untilBothActive();
      for (const each of [...watches, ...rotations]) await each.verify();
      for (const { records } of watches) assert.deepEqual(statesOf(records), ['ACTIVE', 'FAILING', 'ACTIVE']);
      assert.ok((await streamEpoch(west)) > epoch);
    });
  }

  it('receives new server addresses after the recovery [PEER-41] [STREAM-71]', async () => {
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
        RECONNECT_MS_MAX,
      );
      const addresses = (await west.record('east'))?.PeerServerAddresses;
      assert.deepEqual(addresses, advertise(...ports)['peering.advertise']?.split(','));
      const epoch = await streamEpoch(west);
      proxy.sever();
      await until('a stream opens to another address', async () => (await streamEpoch(west)) > epoch, RECONNECT_MS_MAX);
    } finally {
      await second[Symbol.asyncDispose]();
    }
  });

  it('stays ACTIVE on a slow network, which still delivers heartbeats and resources', async () => {
    const timeoutMs = 8_000;
    const longTimeout = { 'peering.heartbeat-timeout': `${timeoutMs}ms` };
    for (const cluster of [east, west]) await cluster.kill('SIGTERM');
    const advertised = { 'peering.advertise': `127.0.0.1:${proxy.port}` };
    await Promise.all([east.start({ ...longTimeout, ...advertised }), west.start(longTimeout)]);
    await untilBothActive();
    const watches = [watchRecord(east, 'west'), watchRecord(west, 'east')];
    const rotations = [await trackRotations(east, west), await trackRotations(west, east)];
    const lastHeartbeats = async (): Promise<(string | undefined)[]> =>
      [await east.record('west'), await west.record('east')].map((record) => record?.StreamStatus.LastHeartbeat);
    proxy.throttle(1_000);
    const before = await lastHeartbeats();
    for (const each of rotations) await each.toggle();
    await delay(timeoutMs + 2_000);
    for (const [i, time] of (await lastHeartbeats()).entries()) assert.notEqual(time, before[i]);
    for (const each of [...rotations, ...watches]) await each.verify();
    for (const { records } of watches) assert.deepEqual(statesOf(records), ['ACTIVE']);
  });

  it('stays correct when every stream is cut after random bytes', async (context: TestContext) => {
    context.diagnostic(`SEED=${SEED}`);
    await untilBothActive();
    const random = createRandom(SEED);
    const counts = await runCutStorm({ ms: STORM_MS, random, accepting: east, dialing: west, proxy });
    context.diagnostic(JSON.stringify(counts));
    assert.ok(counts.recordChanges > 4 && counts.rotations > 0, 'the storm changed records and CA roots');
  });

  it('can be established with another token when the answer to an establish was lost [PEER-59]', async () => {
    // The first chunk from the server belongs to the TLS handshake. The request is sent before the second one.
    const attempts = [1, 2].map(async (lostFrom) => {
      await using lossy = await startProxy(east.peeringPort);
      const name = `lost-${lostFrom}`;
      const token = tokenForProxy(await east.generate(name), lossy);
      let chunks = 0;
      lossy.filterChunks((direction, chunk) => {
        if (direction === 'to-client') chunks += 1;
        return direction === 'to-client' && chunks >= lostFrom ? 0 : chunk.length;
      });
      const lost = await west.establish(name, token);
      assert.equal(lost.status, 503);
      // The accepting side closes connections without a valid secret [STREAM-34].
      assert.match(lost.text, /^127\.0\.0\.1:\d+: (no answer in time|connection reset)$/);
      assert.equal(await west.record(name), undefined);
      lossy.filterChunks(undefined);
      const { status, text } = await west.establish(name, token);
      if (status !== 200) {
        assert.deepEqual([status, text], [403, INVALID_SECRET]);
        assert.equal((await west.establish(name, tokenForProxy(await east.generate(name), lossy))).status, 200);
      }
      await Promise.all([east.untilRecord(name, isActive), west.untilRecord(name, isActive)]);
      return status;
    });
    assert.deepEqual(await Promise.all(attempts), [200, 403], 'the token is unused, then used');
  });
});
