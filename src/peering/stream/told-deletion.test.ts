import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { describe, it } from 'node:test';
import { generated, present } from '../../../test/support/peering/peering.ts';
import { type PeeringSide, peerSides, rowOf, startSide } from '../../../test/support/peering/peering-side.ts';
import { dialRaw, type RawCall, type RawDialer, readToken } from '../../../test/support/peering/raw-peer.ts';
import { until } from '../../../test/support/until.ts';
import { peerings } from '../record/record.ts';
import { hashOf, tombstones } from '../record/secrets.ts';

const ACCORD = { 'accord-version': '1.13.0' };

/** A peering that was deleted here, and what the other side has of it. */
async function deletedPeer({ api, running }: PeeringSide, name: string) {
  const { PeerID, EstablishmentSecret } = readToken(await generated(api, name));
  using dialer = await dialRaw(running.address);
  const { secret: StreamSecretID } = await dialer.exchange(PeerID, EstablishmentSecret);
  await api.request('DELETE', `/v1/peering/${name}`);
  assert.ok(tombstoneOf(api, PeerID) !== undefined);
  return { PeerID, StreamSecretID };
}

const tombstoneOf = ({ state }: PeeringSide['api'], peeringId: string) =>
  state.snapshot.get(tombstones, peeringId)?.row;

const isTold = (call: RawCall): boolean => call.received.some(({ Payload }) => Payload.case === 'terminated');

/** Opens a stream, is told of the deletion, and does not leave before it is told how. */
async function hear(dialer: RawDialer, open: object, headers: Readonly<Record<string, string>>): Promise<RawCall> {
  const call = dialer.call({ headers, lingering: true });
  call.say({ open: { ...open } });
  await until('it is told', () => isTold(call));
  return call;
}

describe('a peering that was deleted on the accepting side', { timeout: 60_000 }, () => {
  it('is forgotten once an Accord says that it knows', async () => {
    await using west = await startSide();
    const peer = await deletedPeer(west, 'east');
    using dialer = await dialRaw(west.running.address);
    const call = await hear(dialer, peer, ACCORD);
    call.say({ terminated: {} });
    await until('it is forgotten', () => tombstoneOf(west.api, peer.PeerID) === undefined);
  });

  it('is told again to whoever leaves without a word, in order or not, Accord or Consul', async () => {
    await using west = await startSide();
    const peer = await deletedPeer(west, 'east');
    const leave: readonly (readonly [Readonly<Record<string, string>>, (call: RawCall) => void])[] = [
      [ACCORD, (call) => call.stream.end()],
      [ACCORD, (call) => call.stream.session?.destroy()],
      // A Consul ends its half, or resets the stream without an error, whether or not it has kept what it was told.
      [{}, (call) => call.stream.end()],
      [{}, (call) => call.stream.close(constants.NGHTTP2_NO_ERROR)],
      [{}, (call) => call.stream.session?.destroy()],
    ];
    for (const [headers, go] of leave) {
      using dialer = await dialRaw(west.running.address);
      const call = await hear(dialer, peer, headers);
      go(call);
      await call.ended;
    }
    // Had one of them been taken for one that knows, this one would be a stranger.
    using dialer = await dialRaw(west.running.address);
    const call = await hear(dialer, peer, ACCORD);
    call.say({ terminated: {} });
    await until('it is forgotten', () => tombstoneOf(west.api, peer.PeerID) === undefined);
  });

  it('is kept for the secret that has not been told', async () => {
    await using west = await startSide();
    const peer = await deletedPeer(west, 'east');
    const other = hashOf('another secret');
    await west.api.state.write((tx) => {
      const row = tx.get(tombstones, peer.PeerID)?.row;
      if (row !== undefined) tx.put(tombstones, { ...row, hashes: [...row.hashes, other] });
    });
    using dialer = await dialRaw(west.running.address);
    const call = await hear(dialer, peer, ACCORD);
    call.say({ terminated: {} });
    await until('one is told', () => tombstoneOf(west.api, peer.PeerID)?.hashes.join() === other);
  });

  it('is forgotten once the other side, whose stream was live, shows TERMINATED', async () => {
    await using west = await startSide();
    await using east = await startSide();
    await peerSides(west, east);
    const { id } = rowOf(west, 'east');
    await west.api.request('DELETE', '/v1/peering/east');
    await east.untilRecord('west', ({ State }) => State === 'TERMINATED');
    await until('it is forgotten', () => tombstoneOf(west.api, id) === undefined);
  });
});

describe('a peering that was deleted on the dialing side', { timeout: 60_000 }, () => {
  it('is told under the name and partition that it had, also when its record is gone', async () => {
    await using west = await startSide();
    await using east = await startSide();
    await peerSides(west, east);
    const { remote } = rowOf(west, 'east');
    assert.deepEqual(remote, { partition: 'default', datacenter: 'dc1' });
    const { id } = rowOf(east, 'west');
    await east.running.stop();
    await east.api.request('DELETE', '/v1/peering/west');
    const left = tombstoneOf(east.api, id);
    assert.ok(left !== undefined);
    // A server with what east has of it once the record is removed.
    await using again = await startSide();
    await again.api.state.write((tx) => void tx.put(tombstones, left));
    await west.untilRecord('east', ({ State }) => State === 'TERMINATED');
    assert.deepEqual(rowOf(west, 'east').remote, remote);
    await until('it is told', () => tombstoneOf(again.api, id) === undefined);
  });

  it('counts against limits.peerings until the other side knows', async () => {
    await using west = await startSide();
    await using east = await startSide({ peering: { peeringsMax: 2 } });
    await west.running.stop();
    const establish = async (name: string) => present(east.api, name, await generated(west.api, name));
    assert.equal((await establish('first')).status, 200);
    const { id } = rowOf(east, 'first');
    await east.api.request('DELETE', '/v1/peering/first');
    assert.equal((await establish('second')).status, 200, 'a record that is still being removed counts once');
    await east.api.state.write((tx) => tx.delete(peerings, id));
    const refused = await establish('third');
    assert.deepEqual(
      [refused.status, refused.text],
      [
        429,
        'there are 2 peerings already (limits.peerings); 1 of them were deleted, and the other clusters are away and could not be told yet',
      ],
    );
    await east.api.state.write((tx) => tx.delete(tombstones, id));
    assert.equal((await establish('third')).status, 200);
  });
});
