import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import {
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  requestToken,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { peerings } from '../record/record.ts';

/** Resolves when more than `idle` waiters are registered. */
const waits = (api: Api, idle: number): Promise<void> => until('it waits', () => api.state.waiterCount === idle + 1);

describe('a name whose deleted peering is not removed yet', () => {
  test('gets a new record after the removal', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const first = tokenContent(await mustGenerate(api, 'east')).PeerID;
    await api.request('DELETE', '/v1/peering/east');
    const idle = api.state.waiterCount;
    const answer = mustGenerate(api, 'east');
    await waits(api, idle);
    await api.state.write((tx) => tx.delete(peerings, first));
    assert.notEqual(tokenContent(await answer).PeerID, first);
  });

  test('returns 409 ten seconds after the first attempt', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { PeerID: first } = tokenContent(await mustGenerate(api, 'east'));
    await api.request('DELETE', '/v1/peering/east');
    const idle = api.state.waiterCount;
    const answer = requestToken(api, 'East');
    await waits(api, idle);
    clock.advance(6_000);
    // A change of the row wakes the wait and does not extend it.
    await api.state.write((tx) => {
      const row = tx.get(peerings, first)?.row;
      if (row !== undefined) tx.put(peerings, { ...row, meta: { a: '1' } });
    });
    await waits(api, idle);
    clock.advance(3_999);
    await waits(api, idle);
    clock.advance(1);
    assert.deepEqual(statusAndText(await answer), [409, 'peering "East" is being deleted']);
    assert.equal(api.state.waiterCount, idle, 'nothing is left waiting');
  });

  test('ends the wait when the client disconnects', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    await mustGenerate(api, 'east');
    await api.request('DELETE', '/v1/peering/east');
    const idle = api.state.waiterCount;
    const leaving = new AbortController();
    const answer = requestToken(api, 'east', {}, { signal: leaving.signal });
    await waits(api, idle);
    leaving.abort();
    await assert.rejects(answer);
    await until('no request is waiting', () => api.state.waiterCount === idle);
  });

  test('blocks an establish until the removal', async () => {
    const clock = createFakeClock(Date.now());
    await using accepting = await startApi();
    await using dialing = await startApi({ clock });
    await mustPeer(accepting, 'west', dialing, 'east');
    const { ID } = await mustReadRecord(dialing, 'east');
    await dialing.request('DELETE', '/v1/peering/east');
    const idle = dialing.state.waiterCount;
    const token = await mustGenerate(accepting, 'west');
    const late = requestEstablish(dialing, 'east', token);
    await until('it waits', () => dialing.state.waiterCount === idle + 1);
    clock.advance(10_000);
    assert.deepEqual(statusAndText(await late), [409, 'peering "east" is being deleted']);
    const answer = requestEstablish(dialing, 'east', token);
    await until('it waits', () => dialing.state.waiterCount === idle + 1);
    await dialing.state.write((tx) => tx.delete(peerings, ID));
    assert.equal((await answer).status, 200);
    assert.notEqual((await mustReadRecord(dialing, 'east')).ID, ID);
  });
});
