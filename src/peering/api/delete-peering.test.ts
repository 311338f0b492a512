import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import {
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { peerings, streamOpened, terminatedByPeer } from '../record/record.ts';
import { acceptedSecrets, links, matchStreamSecret, streamSecretContext, tombstones } from '../record/secrets.ts';

const remove = (api: Api, name: string) => api.request('DELETE', `/v1/peering/${name}`);

describe('DELETE /v1/peering/:name', () => {
  test('sets DeletedAt once, and the peering remains readable [PEER-65] [PEER-66] [V1-35]', async () => {
    const clock = createFakeClock(Date.UTC(2030, 0, 1));
    await using api = await startApi({ clock });
    await mustGenerate(api, 'East', { Meta: { a: '1' } });
    const before = await mustReadRecord(api, 'east');
    const answer = await remove(api, 'EAST');
    assert.deepEqual([...statusAndText(answer), answer.headers['content-type']], [200, '', undefined]);
    const after = await api.request('GET', '/v1/peering/east');
    const { Remote: _, ...rest } = before;
    const shown = {
      ...rest,
      State: 'TERMINATED',
      ModifyIndex: api.state.snapshot.index,
      DeletedAt: '2030-01-01T00:00:00.000Z',
    };
    assert.equal(after.text, JSON.stringify(shown));
    clock.advance(1_000);
    const { snapshot } = api.state;
    assert.deepEqual(statusAndText(await remove(api, 'east')), [200, '']);
    assert.equal(api.state.snapshot, snapshot);
    assert.equal((await mustReadRecord(api, 'east')).DeletedAt, '2030-01-01T00:00:00.000Z');
  });

  test('succeeds for a missing peering and changes nothing [PEER-66]', async () => {
    await using api = await startApi();
    const { snapshot } = api.state;
    assert.deepEqual(statusAndText(await remove(api, 'east')), [200, '']);
    assert.equal(api.state.snapshot, snapshot);
    assert.equal((await remove(api, 'a_b')).status, 400);
  });

  test('deletes the secrets of the accepting side and keeps their hashes in a tombstone [PEER-65]', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock });
    await using other = await startApi();
    await mustPeer(api, 'east', other, 'west');
    const { ID, PeerID = '' } = await mustReadRecord(other, 'west');
    const link = other.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    const secret = other.peering.secrets.decrypt(link.secret, streamSecretContext(ID));
    await api.state.write((tx) => {
      const next = matchStreamSecret(tx.get(acceptedSecrets, PeerID)?.row, secret)?.next;
      if (next !== undefined) tx.put(acceptedSecrets, next);
    });
    await requestEstablish(other, 'west', await mustGenerate(api, 'east'));
    const { active = '', pending = '' } = api.state.snapshot.get(acceptedSecrets, PeerID)?.row ?? {};
    const unused = tokenContent(await mustGenerate(api, 'east')).EstablishmentSecret;
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

  test('moves the link of the dialing side to a tombstone', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await mustPeer(other, 'west', api, 'east');
    const { ID } = await mustReadRecord(api, 'east');
    const link = api.state.snapshot.get(links, ID)?.row;
    const peerServer = api.state.snapshot.get(peerings, ID)?.row.peer;
    assert.ok(link !== undefined);
    await remove(api, 'east');
    assert.equal(api.state.snapshot.get(links, ID), undefined);
    const tombstone = api.state.snapshot.get(tombstones, ID)?.row;
    const { peeringId: _, ...rest } = link;
    assert.deepEqual([tombstone?.role, tombstone?.hashes], ['dialing', []]);
    assert.deepEqual(tombstone?.link, { ...rest, peer: peerServer, name: 'east', partition: 'default' });
  });

  test('leaves no tombstone when the other side never received a secret or terminated the peering', async () => {
    await using api = await startApi();
    const unused = tokenContent(await mustGenerate(api, 'unused')).PeerID;
    await remove(api, 'unused');
    await using other = await startApi();
    await mustPeer(other, 'west', api, 'told');
    const { ID: told } = await mustReadRecord(api, 'told');
    await api.state.write((tx) => {
      const row = tx.get(peerings, told)?.row;
      const next = row && terminatedByPeer(row);
      if (next !== undefined) tx.put(peerings, next);
      tx.delete(links, told);
    });
    const before = await mustReadRecord(api, 'told');
    assert.deepEqual([before.State, before.DeletedAt, before.Remote?.Datacenter], ['TERMINATED', undefined, 'dc1']);
    await remove(api, 'told');
    assert.notEqual((await mustReadRecord(api, 'told')).DeletedAt, undefined);
    for (const id of [unused, told]) assert.equal(api.state.snapshot.get(tombstones, id), undefined);
  });

  test('removes stream and services from the record [PEER-18]', async () => {
    await using api = await startApi();
    const id = tokenContent(await mustGenerate(api, 'east')).PeerID;
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

describe('a partition with a peering', () => {
  test('cannot be deleted until the peering is removed', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu');
    const id = tokenContent(await mustGenerate(api, 'East', { Partition: 'eu' })).PeerID;
    const text = 'partition "Eu" is still named by peering "East"';
    assert.deepEqual(statusAndText(await api.request('DELETE', '/v1/partition/eu')), [409, text]);
    await api.request('DELETE', '/v1/peering/east?partition=eu');
    assert.deepEqual(statusAndText(await api.request('DELETE', '/v1/partition/eu')), [409, text]);
    await api.state.write((tx) => tx.delete(peerings, id));
    assert.equal((await api.request('DELETE', '/v1/partition/eu')).status, 200);
  });
});
