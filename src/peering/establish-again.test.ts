import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { generated, opened, peer, present, record, seen } from '../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../test/support/process/api.ts';
import { peerings, streamOpened, terminatedByPeer } from './record/record.ts';
import { links } from './record/secrets.ts';

async function terminate(api: Api, name: string): Promise<void> {
  const { ID } = await record(api, name);
  await api.state.write((tx) => {
    const row = tx.get(peerings, ID)?.row;
    const next = row && terminatedByPeer(row);
    if (next !== undefined) tx.put(peerings, next);
    tx.delete(links, ID);
  });
}

describe('establishing again', () => {
  test('keeps the ID and the stream, replaces what the token says, and Meta if some is given', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await present(dialing, 'East', await generated(accepting, 'west'), { Meta: { a: '1' } });
    const before = await record(dialing, 'east');
    await dialing.state.write((tx) => {
      const row = tx.get(peerings, before.ID)?.row;
      const next = row && streamOpened(row, { node: 'a', incarnation: 'i' });
      if (next !== undefined) tx.put(peerings, next);
    });
    const secretBefore = dialing.state.snapshot.get(links, before.ID)?.row.secret;
    await accepting.request('DELETE', '/v1/peering/west');
    const other = await generated(accepting, 'west2', { ServerExternalAddresses: ['lb:1'] });
    assert.equal((await present(dialing, 'EAST', other)).status, 200);
    const after = await record(dialing, 'east');
    assert.deepEqual(
      [after.ID, after.Name, after.State, after.Meta, after.PeerID, after.PeerServerAddresses],
      [before.ID, 'East', 'ACTIVE', { a: '1' }, opened(other).PeerID, ['lb:1']],
    );
    assert.ok(after.ModifyIndex > before.ModifyIndex);
    assert.equal(dialing.state.snapshot.get(peerings, before.ID)?.row.epoch, 1);
    assert.notDeepEqual(dialing.state.snapshot.get(links, before.ID)?.row.secret, secretBefore);
    await present(dialing, 'east', await generated(accepting, 'west2'), { Meta: { b: '2' } });
    assert.deepEqual((await record(dialing, 'east')).Meta, { b: '2' });
  });

  test('with a token of another cluster is refused', async () => {
    await using accepting = await startApi();
    await using other = await startApi();
    await using dialing = await startApi();
    await peer(accepting, 'west', dialing, 'east');
    const token = await generated(other, 'west');
    const [names, theirs] = [accepting, other].map(({ peering }) => peering.identity.serverName);
    assert.deepEqual(seen(await present(dialing, 'east', token)), [
      409,
      `cannot create peering with name: "east"; there is a peering with another cluster, "${names}", and the token is of "${theirs}": delete that peering first`,
    ]);
    assert.equal((await present(dialing, 'east2', token)).status, 200, 'the token was not spent');
  });

  test('over a record that the other side has terminated takes any cluster and begins anew', async () => {
    await using accepting = await startApi();
    await using other = await startApi();
    await using dialing = await startApi();
    await peer(accepting, 'west', dialing, 'east');
    const { ID } = await record(dialing, 'east');
    await terminate(dialing, 'east');
    assert.equal((await present(dialing, 'east', await generated(other, 'west'))).status, 200);
    const after = await record(dialing, 'east');
    assert.deepEqual([after.ID, after.State, after.PeerServerName], [ID, 'INITIAL', other.peering.identity.serverName]);
  });

  test('over a record that expects to be dialed is refused', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await generated(dialing, 'East');
    assert.deepEqual(seen(await present(dialing, 'east', await generated(accepting, 'west'))), [
      409,
      'cannot create peering with name: "east"; there is an existing peering expecting to be dialed',
    ]);
  });
});
