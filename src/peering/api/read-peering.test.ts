import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import {
  indexOfAnswer,
  mustGenerate,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { type Peering, peerings, streamLost, streamOpened } from '../record/record.ts';
import type { PeeringJson, StreamTimes } from '../record/record-to-json.ts';

async function change(api: Api, id: string, next: (row: Peering) => Peering | undefined): Promise<void> {
  await api.state.write((tx) => {
    const row = tx.get(peerings, id)?.row as Peering | undefined;
    const changed = row && next(row);
    if (changed !== undefined) tx.put(peerings, changed);
  });
}

describe('GET /v1/peering/:name', () => {
  test('ignores the case of the name [PEER-4]', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'East');
    const texts = new Set<string>();
    for (const name of ['East', 'east', 'EAST']) texts.add((await api.request('GET', `/v1/peering/${name}`)).text);
    assert.equal(texts.size, 1);
  });

  test('returns 404 with an index for a missing peering [PEER-12]', async () => {
    await using api = await startApi();
    const answer = await api.request('GET', '/v1/peering/East');
    assert.deepEqual(statusAndText(answer), [404, 'Peering not found for "East"']);
    assert.equal(indexOfAnswer(answer), api.state.snapshot.index);
    for (const header of ['knownleader', 'lastcontact', 'effective-consistency', 'default-acl-policy']) {
      assert.notEqual(answer.headers[`x-service-${header}`], undefined);
    }
  });

  test('returns 400 for an invalid name [PEER-3]', async () => {
    await using api = await startApi();
    for (const name of ['a_b', 'a%2Fb', '-a', 'a'.repeat(64), '%0A']) {
      const answer = await api.request('GET', `/v1/peering/${name}`);
      assert.equal(answer.status, 400, answer.text);
      assert.ok(answer.text.startsWith(`${decodeURIComponent(name)} is not a valid peer name: `));
    }
  });

  test('supports HEAD, pretty, and problem documents', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'east');
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

  test('returns the current stream times [PEER-15]', async () => {
    const times = new Map<string, StreamTimes>();
    const streams = { of: (id: string) => times.get(id), tick: 0 };
    await using api = await startApi({ peering: { streams } });
    const id = tokenContent(await mustGenerate(api, 'east')).PeerID;
    const status = async () => (await api.request('GET', '/v1/peering/east')).json<PeeringJson>().StreamStatus;
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
    const [listed] = (await api.request('GET', '/v1/peerings')).json<PeeringJson[]>();
    assert.equal(listed?.StreamStatus.LastReceive, '1970-01-01T00:00:03.000Z');
  });
});

describe('a blocking query of GET /v1/peering/:name', () => {
  test('wakes at every change of the peering, and at no other [PEER-25]', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const id = tokenContent(await mustGenerate(api, 'east')).PeerID;
    let index = indexOfAnswer(await api.request('GET', '/v1/peering/east'));
    const changes: readonly (readonly [(row: Peering) => Peering | undefined, state: string])[] = [
      [(row) => streamOpened(row, { node: 'a', incarnation: 'i' }) as Peering, 'ACTIVE'],
      [(row) => ({ ...row, imported: ['web'] }), 'ACTIVE'],
      [
        (row) => streamLost(row, 1, { since: '2030-01-01T00:00:00.000Z', reason: 'heartbeat timeout' }) as Peering,
        'INITIAL',
      ],
    ];
    for (const [next, state] of changes) {
      const { answer } = await api.startBlockingQuery(`/v1/peering/east?index=${index}`);
      await mustGenerate(api, 'other');
      await mustGenerate(api, 'east');
      assert.equal(api.reads.waitingCount, 1);
      await change(api, id, next);
      const response = await answer;
      assert.equal(response.json<PeeringJson>().State, state);
      assert.ok(indexOfAnswer(response) > index);
      index = indexOfAnswer(response);
    }
  });

  test('returns 200 when a missing peering is created, and 404 when the peering is removed [PEER-12]', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const missing = await api.request('GET', '/v1/peering/east');
    const appears = await api.startBlockingQuery(`/v1/peering/EAST?index=${indexOfAnswer(missing)}`);
    const id = tokenContent(await mustGenerate(api, 'east')).PeerID;
    const there = await appears.answer;
    assert.equal(there.status, 200);
    assert.ok(indexOfAnswer(there) > indexOfAnswer(missing));
    const goes = await api.startBlockingQuery(`/v1/peering/east?index=${indexOfAnswer(there)}`);
    await api.state.write((tx) => tx.delete(peerings, id));
    const gone = await goes.answer;
    assert.deepEqual(statusAndText(gone), [404, 'Peering not found for "east"']);
    assert.ok(indexOfAnswer(gone) > indexOfAnswer(there));
  });

  test('returns 403 when the ACL token of the caller is deleted', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const index = indexOfAnswer(await api.request('GET', '/v1/peering/east'));
    const { AccessorID, SecretID } = await api.makeToken(['peering:read@default=east']);
    const { answer } = await api.startBlockingQuery(`/v1/peering/east?index=${index + 1}`, { token: SecretID });
    await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
    assert.deepEqual(statusAndText(await answer), [403, 'ACL not found']);
  });

  test('accepts the query parameters of all reads', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'east');
    const read = (query: string) => api.request('GET', `/v1/peering/east?${query}`);
    assert.deepEqual(statusAndText(await read('index=x')), [400, 'Invalid index']);
    assert.deepEqual(statusAndText(await read('wait=5')), [400, 'Invalid wait time']);
    assert.deepEqual(statusAndText(await read('stale&consistent')), [
      400,
      'Cannot specify ?stale with ?consistent, conflicting semantics.',
    ]);
    assert.equal((await read('stale')).headers['x-service-effective-consistency'], 'stale');
    assert.equal((await read('cached')).headers['x-cache'], undefined, 'only the list has it');
  });
});

describe('a read that does not support blocking queries', () => {
  const api = sharedApi();
  const PATHS = [
    '/v1/audit',
    '/v1/operator/export',
    '/v1/openapi.json',
    '/v1/peering/east/check',
    '/v1/peering/east/explain?service=web',
    '/v1/peering/east/diff',
  ];
  for (const path of PATHS) {
    test(`ignores index and wait at ${path} [V1-84]`, { timeout: 30_000 }, async () => {
      await mustGenerate(api(), 'east');
      const { index } = api().state.snapshot;
      const headers = { 'x-service-export-passphrase': Buffer.from('correct horse battery').toString('base64') };
      const query = `${path.includes('?') ? '&' : '?'}index=${index}&wait=10m`;
      assert.equal((await api().request('GET', `${path}${query}`, { headers })).status, 200);
    });
  }
});
