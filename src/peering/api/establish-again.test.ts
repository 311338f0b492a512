import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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
import { links } from '../record/secrets.ts';

async function terminate(api: Api, name: string): Promise<void> {
  const { ID } = await mustReadRecord(api, name);
  await api.state.write((tx) => {
    const row = tx.get(peerings, ID)?.row;
    const next = row && terminatedByPeer(row);
    if (next !== undefined) tx.put(peerings, next);
    tx.delete(links, ID);
  });
}

describe('POST /v1/peering/establish over an existing record', () => {
  test('keeps ID and stream, and replaces the fields of the token, and Meta if given', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await requestEstablish(dialing, 'East', await mustGenerate(accepting, 'west'), { Meta: { a: '1' } });
    const before = await mustReadRecord(dialing, 'east');
    await dialing.state.write((tx) => {
      const row = tx.get(peerings, before.ID)?.row;
      const next = row && streamOpened(row, { node: 'a', incarnation: 'i' });
      if (next !== undefined) tx.put(peerings, next);
    });
    const secretBefore = dialing.state.snapshot.get(links, before.ID)?.row.secret;
    await accepting.request('DELETE', '/v1/peering/west');
    const other = await mustGenerate(accepting, 'west2', { ServerExternalAddresses: ['lb:1'] });
    assert.equal((await requestEstablish(dialing, 'EAST', other)).status, 200);
    const after = await mustReadRecord(dialing, 'east');
    assert.deepEqual(
      [after.ID, after.Name, after.State, after.Meta, after.PeerID, after.PeerServerAddresses],
      [before.ID, 'East', 'ACTIVE', { a: '1' }, tokenContent(other).PeerID, ['lb:1']],
    );
    assert.ok(after.ModifyIndex > before.ModifyIndex);
    assert.equal(dialing.state.snapshot.get(peerings, before.ID)?.row.epoch, 1);
    assert.notDeepEqual(dialing.state.snapshot.get(links, before.ID)?.row.secret, secretBefore);
    await requestEstablish(dialing, 'east', await mustGenerate(accepting, 'west2'), { Meta: { b: '2' } });
    assert.deepEqual((await mustReadRecord(dialing, 'east')).Meta, { b: '2' });
  });

  test('returns 409 for a token of another cluster [PEER-64]', async () => {
    await using accepting = await startApi();
    await using other = await startApi();
    await using dialing = await startApi();
    await mustPeer(accepting, 'west', dialing, 'east');
    const token = await mustGenerate(other, 'west');
    const [names, theirs] = [accepting, other].map(({ peering }) => peering.identity.serverName);
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', token)), [
      409,
      `cannot create peering with name: "east"; there is a peering with another cluster, "${names}", and the token is of "${theirs}": delete that peering first`,
    ]);
    assert.equal((await requestEstablish(dialing, 'east2', token)).status, 200, 'the token was not spent');
  });

  test('accepts any cluster and returns to INITIAL when the other side terminated the record', async () => {
    await using accepting = await startApi();
    await using other = await startApi();
    await using dialing = await startApi();
    await mustPeer(accepting, 'west', dialing, 'east');
    const { ID } = await mustReadRecord(dialing, 'east');
    await terminate(dialing, 'east');
    assert.equal((await requestEstablish(dialing, 'east', await mustGenerate(other, 'west'))).status, 200);
    const after = await mustReadRecord(dialing, 'east');
    assert.deepEqual([after.ID, after.State, after.PeerServerName], [ID, 'INITIAL', other.peering.identity.serverName]);
  });

  test('returns 409 for an accepting record [PEER-2] [PEER-63]', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await mustGenerate(dialing, 'East');
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', await mustGenerate(accepting, 'west'))), [
      409,
      'cannot create peering with name: "east"; there is an existing peering expecting to be dialed',
    ]);
  });
});
