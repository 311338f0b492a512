import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { describe, it } from 'node:test';
import {
  type InProcessCluster,
  peerInProcessClusters,
  rowOf,
  startInProcessCluster,
} from '../../../test/support/peering/in-process-cluster.ts';
import { mustGenerate, requestEstablish, tokenContent } from '../../../test/support/peering/peering-requests.ts';
import { dialRaw, type RawCall, type RawDialer } from '../../../test/support/peering/raw-peer.ts';
import { until } from '../../../test/support/until.ts';
import { peerings } from '../record/record.ts';
import { hashOf, tombstones } from '../record/secrets.ts';

const ACCORD = { 'accord-version': '1.13.0' };

/** Creates and deletes a peering. @returns the peer's credentials */
async function deletedPeer({ api, running }: InProcessCluster, name: string) {
  const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, name));
  using dialer = await dialRaw(running.address);
  const { secret: StreamSecretID } = await dialer.exchange(PeerID, EstablishmentSecret);
  await api.request('DELETE', `/v1/peering/${name}`);
  assert.ok(tombstoneOf(api, PeerID) !== undefined);
  return { PeerID, StreamSecretID };
}

const tombstoneOf = ({ state }: InProcessCluster['api'], peeringId: string) =>
  state.snapshot.get(tombstones, peeringId)?.row;

const hasTerminated = (call: RawCall): boolean => call.received.some(({ Payload }) => Payload.case === 'terminated');

/** Opens a stream, waits for Terminated, and leaves the call open. */
async function openUntilTerminated(
  dialer: RawDialer,
  open: object,
  headers: Readonly<Record<string, string>>,
): Promise<RawCall> {
  const call = dialer.call({ headers, neverEnds: true });
  call.send({ open: { ...open } });
  await until('Terminated is received', () => hasTerminated(call));
  return call;
}

describe('a peering that was deleted on the accepting side', { timeout: 60_000 }, () => {
  it('loses its tombstone after an Accord confirms the deletion [PEER-74] [STREAM-83]', async () => {
    await using west = await startInProcessCluster();
    const peer = await deletedPeer(west, 'east');
    using dialer = await dialRaw(west.running.address);
    const call = await openUntilTerminated(dialer, peer, ACCORD);
    call.send({ terminated: {} });
    await until('the tombstone is deleted', () => tombstoneOf(west.api, peer.PeerID) === undefined);
  });

  it('is reported again to a peer that closes without a confirmation [STREAM-82] [STREAM-83]', async () => {
    await using west = await startInProcessCluster();
    const peer = await deletedPeer(west, 'east');
    const closes: readonly (readonly [Readonly<Record<string, string>>, (call: RawCall) => void])[] = [
      [ACCORD, (call) => call.stream.end()],
      [ACCORD, (call) => call.stream.session?.destroy()],
      // Consul closes or resets the stream without an error, whether or not it has stored the deletion.
      [{}, (call) => call.stream.end()],
      [{}, (call) => call.stream.close(constants.NGHTTP2_NO_ERROR)],
      [{}, (call) => call.stream.session?.destroy()],
    ];
    for (const [headers, close] of closes) {
      using dialer = await dialRaw(west.running.address);
      const call = await openUntilTerminated(dialer, peer, headers);
      close(call);
      await call.closed;
    }
    // Had one of these closes counted as a confirmation, the secret would now be unknown.
    using dialer = await dialRaw(west.running.address);
    const call = await openUntilTerminated(dialer, peer, ACCORD);
    call.send({ terminated: {} });
    await until('the tombstone is deleted', () => tombstoneOf(west.api, peer.PeerID) === undefined);
  });

  it('keeps the tombstone for a secret whose holder was not informed [PEER-74]', async () => {
    await using west = await startInProcessCluster();
    const peer = await deletedPeer(west, 'east');
    const other = hashOf('another secret');
    await west.api.state.write((tx) => {
      const row = tx.get(tombstones, peer.PeerID)?.row;
      if (row !== undefined) tx.put(tombstones, { ...row, hashes: [...row.hashes, other] });
    });
    using dialer = await dialRaw(west.running.address);
    const call = await openUntilTerminated(dialer, peer, ACCORD);
    call.send({ terminated: {} });
    await until('one secret is left', () => tombstoneOf(west.api, peer.PeerID)?.hashes.join() === other);
  });

  it('loses its tombstone after the connected peer shows TERMINATED [STREAM-81] [STREAM-82]', async () => {
    await using west = await startInProcessCluster();
    await using east = await startInProcessCluster();
    await peerInProcessClusters(west, east);
    const { id } = rowOf(west, 'east');
    await west.api.request('DELETE', '/v1/peering/east');
    await east.untilRecord('west', ({ State }) => State === 'TERMINATED');
    await until('the tombstone is deleted', () => tombstoneOf(west.api, id) === undefined);
  });
});

describe('a peering that was deleted on the dialing side', { timeout: 60_000 }, () => {
  it('is reported with its name and partition after its record was deleted [STREAM-24]', async () => {
    await using west = await startInProcessCluster();
    await using east = await startInProcessCluster();
    await peerInProcessClusters(west, east);
    const { remote } = rowOf(west, 'east');
    assert.deepEqual(remote, { partition: 'default', datacenter: 'dc1' });
    const { id } = rowOf(east, 'west');
    await east.running.stop();
    await east.api.request('DELETE', '/v1/peering/west');
    const tombstone = tombstoneOf(east.api, id);
    assert.ok(tombstone !== undefined);
    // A server with the tombstone that east keeps after the record is deleted.
    await using again = await startInProcessCluster();
    await again.api.state.write((tx) => void tx.put(tombstones, tombstone));
    await west.untilRecord('east', ({ State }) => State === 'TERMINATED');
    assert.deepEqual(rowOf(west, 'east').remote, remote);
    await until('the tombstone is deleted', () => tombstoneOf(again.api, id) === undefined);
  });

  it('counts against limits.peerings until the peer confirms [PEER-39]', async () => {
    await using west = await startInProcessCluster();
    await using east = await startInProcessCluster({ peering: { peeringsMax: 2 } });
    await west.running.stop();
    const establish = async (name: string) => requestEstablish(east.api, name, await mustGenerate(west.api, name));
    assert.equal((await establish('first')).status, 200);
    const { id } = rowOf(east, 'first');
    await east.api.request('DELETE', '/v1/peering/first');
    assert.equal((await establish('second')).status, 200, 'a record that is being deleted counts once');
    await east.api.state.write((tx) => tx.delete(peerings, id));
    const refused = await establish('third');
    assert.deepEqual(
      [refused.status, refused.text],
      [
        429,
        'there are 2 peerings already (limits.peerings); 1 of them are deleted and wait for the confirmation of clusters that are unreachable',
      ],
    );
    await east.api.state.write((tx) => tx.delete(tombstones, id));
    assert.equal((await establish('third')).status, 200);
  });
});
