import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { gatedExchange, inProcessExchange } from '../../../test/support/peering/in-process-exchange.ts';
import {
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  requestToken,
  statusAndText,
} from '../../../test/support/peering/peering-requests.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import type { Exchange } from '../peering-context.ts';
import { reservations } from './secrets.ts';

describe('while an establish is in flight', () => {
  test('other requests for the name return 409, and its partition cannot be deleted [PEER-38] [PEER-53] [PEER-54]', async () => {
    await using accepting = await startApi();
    const held = gatedExchange();
    await using dialing = await startApi({ peering: { exchange: held.exchange } });
    await dialing.makePartitions('eu');
    const answer = requestEstablish(dialing, 'East', await mustGenerate(accepting, 'west'), { Partition: 'eu' });
    await held.requested;
    const other = await mustGenerate(accepting, 'x');
    const conflict = [409, 'peering "east" is being established'];
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', other, { Partition: 'eu' })), conflict);
    assert.deepEqual(statusAndText(await requestToken(dialing, 'east', { Partition: 'eu' })), conflict);
    assert.equal((await requestToken(dialing, 'east')).status, 200, 'another partition');
    assert.deepEqual(statusAndText(await dialing.request('DELETE', '/v1/partition/eu')), [
      409,
      'partition "eu" is still named by peering "East", which is being established',
    ]);
    assert.equal((await dialing.request('GET', '/v1/peering/east?partition=eu')).status, 404, 'it is not there yet');
    held.open();
    assert.equal((await answer).status, 200);
  });

  test('a disconnect of the client does not abort the exchange [PEER-55]', async () => {
    await using accepting = await startApi();
    const held = gatedExchange();
    await using dialing = await startApi({ peering: { exchange: held.exchange } });
    const token = await mustGenerate(accepting, 'west');
    const leaving = new AbortController();
    const answer = requestEstablish(dialing, 'east', token, {}, { signal: leaving.signal });
    await held.requested;
    leaving.abort();
    await assert.rejects(answer);
    held.open();
    await until('it is there', async () => (await dialing.request('GET', '/v1/peering/east')).status === 200);
  });

  test('a peering deleted during the exchange stays deleted [PEER-60]', async () => {
    await using accepting = await startApi();
    const held = gatedExchange();
    let hold = false;
    const exchange: Exchange = (...given) => (hold ? held.exchange : inProcessExchange)(...given);
    await using dialing = await startApi({ peering: { exchange } });
    await mustPeer(accepting, 'west', dialing, 'east');
    hold = true;
    const answer = requestEstablish(dialing, 'east', await mustGenerate(accepting, 'west'));
    await held.requested;
    await dialing.request('DELETE', '/v1/peering/east');
    held.open();
    assert.deepEqual(statusAndText(await answer), [409, 'peering "east" is being deleted']);
    assert.equal((await mustReadRecord(dialing, 'east')).State, 'TERMINATED');
    assert.equal(dialing.state.snapshot.count(reservations), 0);
  });

  test('the reservation of an interrupted establish expires after 30 seconds', async () => {
    const clock = createFakeClock(Date.now());
    await using accepting = await startApi();
    await using dialing = await startApi({ clock });
    const until = new Date(clock.now() + 30_000).toISOString();
    await dialing.state.write((tx) => {
      tx.put(reservations, { partition: 'default', name: 'east', id: 'another', until });
    });
    const token = await mustGenerate(accepting, 'west');
    assert.equal((await requestEstablish(dialing, 'east', token)).status, 409);
    clock.advance(30_000);
    assert.equal((await requestEstablish(dialing, 'east', token)).status, 200);
  });
});
