import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { heldExchange } from '../../../test/support/peering/held-exchange.ts';
import { inProcessExchange } from '../../../test/support/peering/in-process-exchange.ts';
import { generate, generated, peer, present, record, seen } from '../../../test/support/peering/peering.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import type { Exchange } from '../peering-context.ts';
import { reservations } from './secrets.ts';

describe('while an establish is under way', () => {
  test('its name is held against others, and its partition stays', async () => {
    await using accepting = await startApi();
    const held = heldExchange();
    await using dialing = await startApi({ peering: { exchange: held.exchange } });
    await dialing.makePartitions('eu');
    const answer = present(dialing, 'East', await generated(accepting, 'west'), { Partition: 'eu' });
    await held.asked;
    const other = await generated(accepting, 'x');
    const conflict = [409, 'peering "east" is being established'];
    assert.deepEqual(seen(await present(dialing, 'east', other, { Partition: 'eu' })), conflict);
    assert.deepEqual(seen(await generate(dialing, 'east', { Partition: 'eu' })), conflict);
    assert.equal((await generate(dialing, 'east')).status, 200, 'another partition');
    assert.deepEqual(seen(await dialing.request('DELETE', '/v1/partition/eu')), [
      409,
      'partition "eu" is still named by peering "East", which is being established',
    ]);
    assert.equal((await dialing.request('GET', '/v1/peering/east?partition=eu')).status, 404, 'it is not there yet');
    held.open();
    assert.equal((await answer).status, 200);
  });

  test('its caller may leave: the token is not spent for nothing', async () => {
    await using accepting = await startApi();
    const held = heldExchange();
    await using dialing = await startApi({ peering: { exchange: held.exchange } });
    const token = await generated(accepting, 'west');
    const leaving = new AbortController();
    const answer = present(dialing, 'east', token, {}, { signal: leaving.signal });
    await held.asked;
    leaving.abort();
    await assert.rejects(answer);
    held.open();
    await until('it is there', async () => (await dialing.request('GET', '/v1/peering/east')).status === 200);
  });

  test('a peering that is deleted stays deleted', async () => {
    await using accepting = await startApi();
    const held = heldExchange();
    let hold = false;
    const exchange: Exchange = (...given) => (hold ? held.exchange : inProcessExchange)(...given);
    await using dialing = await startApi({ peering: { exchange } });
    await peer(accepting, 'west', dialing, 'east');
    hold = true;
    const answer = present(dialing, 'east', await generated(accepting, 'west'));
    await held.asked;
    await dialing.request('DELETE', '/v1/peering/east');
    held.open();
    assert.deepEqual(seen(await answer), [409, 'peering "east" is being deleted']);
    assert.equal((await record(dialing, 'east')).State, 'TERMINATED');
    assert.equal(dialing.state.snapshot.count(reservations), 0);
  });

  test('that died, its name is free again after thirty seconds', async () => {
    const clock = createFakeClock(Date.now());
    await using accepting = await startApi();
    await using dialing = await startApi({ clock });
    const until = new Date(clock.now() + 30_000).toISOString();
    await dialing.state.write((tx) => {
      tx.put(reservations, { partition: 'default', name: 'east', id: 'another', until });
    });
    const token = await generated(accepting, 'west');
    assert.equal((await present(dialing, 'east', token)).status, 409);
    clock.advance(30_000);
    assert.equal((await present(dialing, 'east', token)).status, 200);
  });
});
