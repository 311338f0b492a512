import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { generated, opened, peer, present, record, seen } from '../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { peerings, streamOpened, terminatedByPeer } from '../record/record.ts';
import { acceptedSecrets, links, presentedStreamSecret, streamSecretPlace, tombstones } from '../record/secrets.ts';

const remove = (api: Api, name: string) => api.request('DELETE', `/v1/peering/${name}`);

describe('deleting a peering', () => {
  test('marks it, at once and once, and it can still be read', async () => {
    const clock = createFakeClock(Date.UTC(2030, 0, 1));
    await using api = await startApi({ clock });
    await generated(api, 'East', { Meta: { a: '1' } });
    const before = await record(api, 'east');
    const answer = await remove(api, 'EAST');
    assert.deepEqual([...seen(answer), answer.headers['content-type']], [200, '', undefined]);
    const after = await api.request('GET', '/v1/peering/east');
    const { Remote: _, ...kept } = before;
    const shown = {
      ...kept,
      State: 'TERMINATED',
      ModifyIndex: api.state.snapshot.index,
      DeletedAt: '2030-01-01T00:00:00.000Z',
    };
    assert.equal(after.text, JSON.stringify(shown));
    clock.advance(1_000);
    const { snapshot } = api.state;
    assert.deepEqual(seen(await remove(api, 'east')), [200, '']);
    assert.equal(api.state.snapshot, snapshot);
    assert.equal((await record(api, 'east')).DeletedAt, '2030-01-01T00:00:00.000Z');
  });

  test('that is not there changes nothing', async () => {
    await using api = await startApi();
    const { snapshot } = api.state;
    assert.deepEqual(seen(await remove(api, 'east')), [200, '']);
    assert.equal(api.state.snapshot, snapshot);
    assert.equal((await remove(api, 'a_b')).status, 400);
  });

  test('on the accepting side drops its secrets and keeps their hashes, to tell who presents one', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock });
    await using other = await startApi();
    await peer(api, 'east', other, 'west');
    const { ID, PeerID = '' } = await record(other, 'west');
    const link = other.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    const secret = other.peering.secrets.open(link.secret, streamSecretPlace(ID));
    await api.state.write((tx) => {
      const next = presentedStreamSecret(tx.get(acceptedSecrets, PeerID)?.row, secret)?.next;
      if (next !== undefined) tx.put(acceptedSecrets, next);
    });
    await present(other, 'west', await generated(api, 'east'));
    const { active = '', pending = '' } = api.state.snapshot.get(acceptedSecrets, PeerID)?.row ?? {};
    const unused = opened(await generated(api, 'east')).EstablishmentSecret;
    await remove(api, 'east');
    assert.equal(api.state.snapshot.get(acceptedSecrets, PeerID), undefined);
    const tombstone = api.state.snapshot.get(tombstones, PeerID)?.row;
    assert.deepEqual(tombstone, {
      peeringId: PeerID,
      role: 'accepting',
      until: new Date(clock.now() + 30 * 86_400_000).toISOString(),
      hashes: [active, pending],
    });
    assert.ok(active !== '' && pending !== '' && unused !== '');
  });

  test('on the dialing side drops its link and keeps it, to go on dialing until it is told', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await peer(other, 'west', api, 'east');
    const { ID } = await record(api, 'east');
    const link = api.state.snapshot.get(links, ID)?.row;
    const peerServer = api.state.snapshot.get(peerings, ID)?.row.peer;
    assert.ok(link !== undefined);
    await remove(api, 'east');
    assert.equal(api.state.snapshot.get(links, ID), undefined);
    const tombstone = api.state.snapshot.get(tombstones, ID)?.row;
    const { peeringId: _, ...kept } = link;
    assert.deepEqual([tombstone?.role, tombstone?.hashes], ['dialing', []]);
    assert.deepEqual(tombstone?.link, { ...kept, peer: peerServer, name: 'east', partition: 'default' });
  });

  test('leaves no tombstone where the other side never got a secret, or knows', async () => {
    await using api = await startApi();
    const unused = opened(await generated(api, 'unused')).PeerID;
    await remove(api, 'unused');
    await using other = await startApi();
    await peer(other, 'west', api, 'told');
    const { ID: told } = await record(api, 'told');
    await api.state.write((tx) => {
      const row = tx.get(peerings, told)?.row;
      const next = row && terminatedByPeer(row);
      if (next !== undefined) tx.put(peerings, next);
      tx.delete(links, told);
    });
    const before = await record(api, 'told');
    assert.deepEqual([before.State, before.DeletedAt, before.Remote?.Datacenter], ['TERMINATED', undefined, 'dc1']);
    await remove(api, 'told');
    assert.notEqual((await record(api, 'told')).DeletedAt, undefined);
    for (const id of [unused, told]) assert.equal(api.state.snapshot.get(tombstones, id), undefined);
  });

  test('ends its stream in the record, with what went over it', async () => {
    await using api = await startApi();
    const id = opened(await generated(api, 'east')).PeerID;
    await api.state.write((tx) => {
      const row = tx.get(peerings, id)?.row;
      const next = row && streamOpened(row, { node: 'a', incarnation: 'i' });
      if (next !== undefined) tx.put(peerings, { ...next, imported: ['web'], exported: ['db'] });
    });
    await remove(api, 'east');
    const row = api.state.snapshot.get(peerings, id)?.row;
    assert.deepEqual([row?.state, row?.stream, row?.imported, row?.exported], ['TERMINATED', undefined, [], []]);
  });
});

describe('a partition in which a peering lives', () => {
  test('stays until the peering is removed', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu');
    const id = opened(await generated(api, 'East', { Partition: 'eu' })).PeerID;
    const text = 'partition "Eu" is still named by peering "East"';
    assert.deepEqual(seen(await api.request('DELETE', '/v1/partition/eu')), [409, text]);
    await api.request('DELETE', '/v1/peering/east?partition=eu');
    assert.deepEqual(seen(await api.request('DELETE', '/v1/partition/eu')), [409, text]);
    await api.state.write((tx) => tx.delete(peerings, id));
    assert.equal((await api.request('DELETE', '/v1/partition/eu')).status, 200);
  });
});
