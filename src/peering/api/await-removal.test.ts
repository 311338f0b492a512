import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { generate, generated, opened, peer, present, record, seen } from '../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { peerings } from '../record/record.ts';

/** Resolves once something more than `idle` waits for a change. */
const waits = (api: Api, idle: number): Promise<void> => until('it waits', () => api.state.waiterCount === idle + 1);

describe('a name that is still being removed', () => {
  test('is waited for, and then belongs to a new record', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const first = opened(await generated(api, 'east')).PeerID;
    await api.request('DELETE', '/v1/peering/east');
    const idle = api.state.waiterCount;
    const answer = generated(api, 'east');
    await waits(api, idle);
    await api.state.write((tx) => tx.delete(peerings, first));
    assert.notEqual(opened(await answer).PeerID, first);
  });

  test('is refused after ten seconds, from the first attempt on', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { PeerID: first } = opened(await generated(api, 'east'));
    await api.request('DELETE', '/v1/peering/east');
    const idle = api.state.waiterCount;
    const answer = generate(api, 'East');
    await waits(api, idle);
    clock.advance(6_000);
    // The row changes and stays: another look, no new ten seconds.
    await api.state.write((tx) => {
      const row = tx.get(peerings, first)?.row;
      if (row !== undefined) tx.put(peerings, { ...row, meta: { a: '1' } });
    });
    await waits(api, idle);
    clock.advance(3_999);
    await waits(api, idle);
    clock.advance(1);
    assert.deepEqual(seen(await answer), [409, 'peering "East" is being deleted']);
    assert.equal(api.state.waiterCount, idle, 'nothing is left waiting');
  });

  test('is waited for no longer than the caller stays', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    await generated(api, 'east');
    await api.request('DELETE', '/v1/peering/east');
    const idle = api.state.waiterCount;
    const leaving = new AbortController();
    const answer = generate(api, 'east', {}, { signal: leaving.signal });
    await waits(api, idle);
    leaving.abort();
    await assert.rejects(answer);
    await until('nothing waits', () => api.state.waiterCount === idle);
  });

  test('is waited for by an establish, too', async () => {
    const clock = createFakeClock(Date.now());
    await using accepting = await startApi();
    await using dialing = await startApi({ clock });
    await peer(accepting, 'west', dialing, 'east');
    const { ID } = await record(dialing, 'east');
    await dialing.request('DELETE', '/v1/peering/east');
    const idle = dialing.state.waiterCount;
    const token = await generated(accepting, 'west');
    const late = present(dialing, 'east', token);
    await until('it waits', () => dialing.state.waiterCount === idle + 1);
    clock.advance(10_000);
    assert.deepEqual(seen(await late), [409, 'peering "east" is being deleted']);
    const answer = present(dialing, 'east', token);
    await until('it waits', () => dialing.state.waiterCount === idle + 1);
    await dialing.state.write((tx) => tx.delete(peerings, ID));
    assert.equal((await answer).status, 200);
    assert.notEqual((await record(dialing, 'east')).ID, ID);
  });
});
