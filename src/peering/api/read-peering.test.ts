import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { generated, indexOf, opened, seen } from '../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import type { StreamTimes } from '../peering-context.ts';
import { type Peering, peerings, streamLost, streamOpened } from '../record/record.ts';
import type { ShownPeering } from '../record/record-to-json.ts';

async function change(api: Api, id: string, next: (row: Peering) => Peering | undefined): Promise<void> {
  await api.state.write((tx) => {
    const row = tx.get(peerings, id)?.row as Peering | undefined;
    const changed = row && next(row);
    if (changed !== undefined) tx.put(peerings, changed);
  });
}

describe('reading a peering', () => {
  test('finds it whatever the case of the name', async () => {
    await using api = await startApi();
    await generated(api, 'East');
    const texts = new Set<string>();
    for (const name of ['East', 'east', 'EAST']) texts.add((await api.request('GET', `/v1/peering/${name}`)).text);
    assert.equal(texts.size, 1);
  });

  test('of one that is not there is a 404 with an index', async () => {
    await using api = await startApi();
    const answer = await api.request('GET', '/v1/peering/East');
    assert.deepEqual(seen(answer), [404, 'Peering not found for "East"']);
    assert.equal(indexOf(answer), api.state.snapshot.index);
    for (const header of ['knownleader', 'lastcontact', 'effective-consistency', 'default-acl-policy']) {
      assert.notEqual(answer.headers[`x-service-${header}`], undefined);
    }
  });

  test('of a name that cannot be is refused', async () => {
    await using api = await startApi();
    for (const name of ['a_b', 'a%2Fb', '-a', 'a'.repeat(64), '%0A']) {
      const answer = await api.request('GET', `/v1/peering/${name}`);
      assert.equal(answer.status, 400, answer.text);
      assert.ok(answer.text.startsWith(`${decodeURIComponent(name)} is not a valid peer name: `));
    }
  });

  test('takes HEAD, indents for pretty, and tells errors as problems who accepts them', async () => {
    await using api = await startApi();
    await generated(api, 'east');
    const plain = await api.request('GET', '/v1/peering/east');
    const head = await api.request('HEAD', '/v1/peering/east');
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String(plain.text.length)]);
    const pretty = await api.request('GET', '/v1/peering/east?pretty');
    assert.equal(pretty.text, `${JSON.stringify(JSON.parse(plain.text), null, 4)}\n`);
    const headers = { accept: 'application/problem+json' };
    const problem = await api.request('GET', '/v1/peering/west', { headers });
    assert.equal(problem.json<{ code: string }>().code, 'not-found');
    assert.equal(problem.headers['content-type'], 'application/problem+json');
  });

  test('shows the times of its stream as they are now', async () => {
    const times = new Map<string, StreamTimes>();
    const streams = { of: (id: string) => times.get(id), tick: 0 };
    await using api = await startApi({ peering: { streams } });
    const id = opened(await generated(api, 'east')).PeerID;
    const status = async () => (await api.request('GET', '/v1/peering/east')).json<ShownPeering>().StreamStatus;
    assert.deepEqual(await status(), { ImportedServices: null, ExportedServices: [] });
    times.set(id, { heartbeatMs: 1_000, receiveMs: 2_500, sendMs: 0 });
    streams.tick += 1;
    assert.equal(
      JSON.stringify(await status()),
      '{"ImportedServices":null,"ExportedServices":[],"LastHeartbeat":"1970-01-01T00:00:01.000Z","LastReceive":"1970-01-01T00:00:02.500Z","LastSend":"1970-01-01T00:00:00.000Z"}',
    );
    times.set(id, { receiveMs: 3_000 });
    streams.tick += 1;
    assert.deepEqual(Object.keys(await status()), ['ImportedServices', 'ExportedServices', 'LastReceive']);
    const [listed] = (await api.request('GET', '/v1/peerings')).json<ShownPeering[]>();
    assert.equal(listed?.StreamStatus.LastReceive, '1970-01-01T00:00:03.000Z');
  });
});

describe('a query that waits on a peering', () => {
  test('wakes at every change of it, and at no other', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const id = opened(await generated(api, 'east')).PeerID;
    let index = indexOf(await api.request('GET', '/v1/peering/east'));
    const changes: readonly (readonly [(row: Peering) => Peering | undefined, state: string])[] = [
      [(row) => streamOpened(row, { node: 'a', incarnation: 'i' }) as Peering, 'ACTIVE'],
      [(row) => ({ ...row, imported: ['web'] }), 'ACTIVE'],
      [
        (row) => streamLost(row, 1, { since: '2030-01-01T00:00:00.000Z', reason: 'heartbeat timeout' }) as Peering,
        'INITIAL',
      ],
    ];
    for (const [next, state] of changes) {
      const { answer } = await api.hold(`/v1/peering/east?index=${index}`);
      await generated(api, 'other');
      await generated(api, 'east');
      assert.equal(api.reads.waitingCount, 1);
      await change(api, id, next);
      const told = await answer;
      assert.equal(told.json<ShownPeering>().State, state);
      assert.ok(indexOf(told) > index);
      index = indexOf(told);
    }
  });

  test('that is not there wakes when it appears, and with 404 when it goes', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const missing = await api.request('GET', '/v1/peering/east');
    const appears = await api.hold(`/v1/peering/EAST?index=${indexOf(missing)}`);
    const id = opened(await generated(api, 'east')).PeerID;
    const there = await appears.answer;
    assert.equal(there.status, 200);
    assert.ok(indexOf(there) > indexOf(missing));
    const goes = await api.hold(`/v1/peering/east?index=${indexOf(there)}`);
    await api.state.write((tx) => tx.delete(peerings, id));
    const gone = await goes.answer;
    assert.deepEqual(seen(gone), [404, 'Peering not found for "east"']);
    assert.ok(indexOf(gone) > indexOf(there));
  });

  test('ends with 403 when its token goes', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const index = indexOf(await api.request('GET', '/v1/peering/east'));
    const { AccessorID, SecretID } = await api.makeToken(['peering:read@default=east']);
    const { answer } = await api.hold(`/v1/peering/east?index=${index + 1}`, { token: SecretID });
    await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
    assert.deepEqual(seen(await answer), [403, 'ACL not found']);
  });

  test('takes the parameters of every read', async () => {
    await using api = await startApi();
    await generated(api, 'east');
    const read = (query: string) => api.request('GET', `/v1/peering/east?${query}`);
    assert.deepEqual(seen(await read('index=x')), [400, 'Invalid index']);
    assert.deepEqual(seen(await read('wait=5')), [400, 'Invalid wait time']);
    assert.deepEqual(seen(await read('stale&consistent')), [
      400,
      'Cannot specify ?stale with ?consistent, conflicting semantics.',
    ]);
    assert.equal((await read('stale')).headers['x-service-effective-consistency'], 'stale');
    assert.equal((await read('cached')).headers['x-cache'], undefined, 'only the list has it');
  });
});
