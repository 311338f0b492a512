import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code } from '@connectrpc/connect';
import {
  peerInProcessClusters,
  rowOf,
  startInProcessCluster,
} from '../../../test/support/peering/in-process-cluster.ts';
import { mustGenerate, tokenContent } from '../../../test/support/peering/peering-requests.ts';
import { dialRaw, type Outcome } from '../../../test/support/peering/raw-peer.ts';
import { until } from '../../../test/support/until.ts';

describe('the end of a stream at the dialing side', { timeout: 60_000 }, () => {
  it('is reported as `stream closed` when the server stops [STREAM-87]', async () => {
    await using west = await startInProcessCluster();
    await using east = await startInProcessCluster();
    await peerInProcessClusters(west, east);
    await east.running.stop();
    const { Failing } = await west.untilRecord('east', ({ State }) => State === 'INITIAL');
    assert.equal(Failing?.Reason, 'closed by the other cluster: stream closed');
  });

  it('is reported as an unexpected close when the connection breaks', async () => {
    await using west = await startInProcessCluster();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(west.api, 'east'));
    using first = await dialRaw(west.running.address);
    const { secret: StreamSecretID } = await first.exchange(PeerID, EstablishmentSecret);
    using dialer = await dialRaw(west.running.address);
    dialer.call().send({ open: { PeerID, StreamSecretID } });
    await west.untilRecord('east', ({ State }) => State === 'ACTIVE');
    dialer.session.socket.destroy();
    const { Failing } = await west.untilRecord('east', ({ State }) => State === 'INITIAL');
    assert.equal(Failing?.Reason, 'connection lost: closed unexpectedly');
  });
});

describe('an Open', { timeout: 60_000 }, () => {
  it('sets LastReceive when it is accepted', async () => {
    await using west = await startInProcessCluster();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(west.api, 'east'));
    using first = await dialRaw(west.running.address);
    const { secret: StreamSecretID } = await first.exchange(PeerID, EstablishmentSecret);
    using dialer = await dialRaw(west.running.address);
    const call = dialer.call();
    call.send({ open: { PeerID, StreamSecretID } });
    await until('the stream is live', () => call.received.length > 0);
    assert.ok(west.running.service.streams.of(PeerID)?.receiveMs !== undefined);
  });

  it('is refused with an invalid partition or datacenter name and accepted with a valid one [STREAM-28]', async () => {
    await using west = await startInProcessCluster();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(west.api, 'east'));
    using first = await dialRaw(west.running.address);
    const { secret: StreamSecretID } = await first.exchange(PeerID, EstablishmentSecret);
    const opened = async (Remote: object): Promise<Outcome> => {
      using dialer = await dialRaw(west.running.address);
      const call = dialer.call();
      call.send({ open: { PeerID, StreamSecretID, Remote } });
      return await call.closed;
    };
    const text =
      "the Open names a partition or a datacenter that is not a valid name: want at most 253 letters, digits, '.', '-' or '_'";
    for (const bad of ['x'.repeat(254), 'a\u001b[2J', 'a\nb', '../../<script>', 'ä']) {
      for (const Remote of [{ Partition: bad }, { Datacenter: bad }]) {
        const { code, message } = await opened(Remote);
        assert.deepEqual([code, message], [Code.InvalidArgument, text], JSON.stringify(Remote));
      }
    }
    assert.deepEqual(rowOf(west, 'east').remote, { partition: '', datacenter: '' });
    for (const [partition, datacenter] of [
      ['', 'dc1'],
      ['Team-A', 'eu_west-1'],
      ['x'.repeat(253), ''],
    ]) {
      using dialer = await dialRaw(west.running.address);
      const call = dialer.call();
      call.send({ open: { PeerID, StreamSecretID, Remote: { Partition: partition, Datacenter: datacenter } } });
      await until('the stream is live', () => call.received.length > 0);
      assert.deepEqual(rowOf(west, 'east').remote, { partition, datacenter });
    }
  });
});
