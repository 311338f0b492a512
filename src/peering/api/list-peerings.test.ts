import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import {
  indexOfAnswer,
  mustGenerate,
  mustPeer,
  mustReadRecord,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import type { Answer, RequestOptions } from '../../../test/support/process/server.ts';
import { peerings, streamOpened } from '../record/record.ts';
import type { PeeringJson } from '../record/record-to-json.ts';

const list = (api: Api, query = '', options?: RequestOptions): Promise<Answer> =>
  api.request('GET', `/v1/peerings${query}`, options);
const names = (answer: Answer): string[] => {
  assert.equal(answer.status, 200, answer.text);
  return answer.json<PeeringJson[]>().map(({ Name }) => Name);
};
const FILTERED = 'x-service-results-filtered-by-acls';

describe('GET /v1/peerings', () => {
  test('returns an empty array without peerings [V1-85]', async () => {
    await using api = await startApi();
    assert.equal((await list(api)).text, '[]');
  });

  test('returns the records with their partition, by name without regard to case', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await mustGenerate(api, 'b', { Meta: { k: 'v' } });
    await mustGenerate(api, 'C');
    await mustGenerate(api, 'A');
    await mustPeer(other, 'x', api, 'D');
    const answer = await list(api);
    assert.deepEqual(names(answer), ['A', 'b', 'C', 'D']);
    for (const { Partition, ...rest } of answer.json<PeeringJson[]>()) {
      assert.equal(Partition, 'default');
      assert.deepEqual(rest, await mustReadRecord(api, rest.Name));
    }
    const keys = answer.json<PeeringJson[]>().map((shown) => Object.keys(shown).join(' '));
    assert.equal(keys[1], 'ID Name State Partition StreamStatus Meta CreateIndex ModifyIndex Remote');
    assert.equal(
      keys[3],
      'ID Name State Partition PeerID PeerServerName PeerServerAddresses StreamStatus CreateIndex ModifyIndex Remote',
    );
    const pretty = await list(api, '?pretty');
    assert.equal(pretty.text, `${JSON.stringify(answer.json(), null, 4)}\n`);
  });

  test('returns one partition, or with * all that the caller may read [PEER-20] [ACL-51] [V1-88]', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu', 'us');
    await mustGenerate(api, 'b');
    await mustGenerate(api, 'b', { Partition: 'eu' });
    await mustGenerate(api, 'a', { Partition: 'us' });
    assert.deepEqual(names(await list(api)), ['b']);
    assert.deepEqual(names(await list(api, '?partition=EU')), ['b']);
    const all = await list(api, '?partition=*');
    assert.deepEqual(
      all.json<PeeringJson[]>().map(({ Name, Partition }) => `${Name}/${Partition}`),
      ['a/us', 'b/default', 'b/Eu'],
    );
    assert.equal(all.headers[FILTERED], undefined);
    const { SecretID: token } = await api.makeToken(['peering:read@eu'], { Partition: 'us' });
    const some = await list(api, '?partition=*', { token });
    assert.deepEqual(
      some.json<PeeringJson[]>().map(({ Partition }) => Partition),
      ['Eu'],
    );
    assert.equal(some.headers[FILTERED], 'true');
    assert.equal((await list(api, '', { token })).status, 403);
  });

  test('is compressed when the client accepts gzip', async () => {
    await using api = await startApi();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await mustGenerate(api, name);
    const answer = await list(api, '', { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(answer.headers['content-encoding'], 'gzip');
    assert.equal(answer.headers.vary, 'Accept-Encoding');
  });
});

describe('peerings that the caller may not read', () => {
  test('are omitted with X-Service-Results-Filtered, with and without query parameters [V1-87]', async () => {
    await using api = await startApi();
    for (const name of ['east', 'prod-1', 'Prod-2', 'west']) await mustGenerate(api, name);
    const { SecretID: token } = await api.makeToken(['peering:read@default=prod-*', 'peering:write@default=EAST']);
    for (const [query, expected] of [
      ['', ['east', 'prod-1', 'Prod-2']],
      ['?state=ACTIVE', []],
      ['?name-prefix=east', ['east']],
      ['?name-prefix=west', []],
      ['?limit=1', ['east']],
      ['?after=prod-1', ['Prod-2']],
      ['?cached', ['east', 'prod-1', 'Prod-2']],
    ] as const) {
      const answer = await list(api, query, { token });
      assert.deepEqual([names(answer), answer.headers[FILTERED]], [expected, 'true'], query);
    }
    const everything = await list(api);
    assert.equal(everything.headers[FILTERED], undefined);
    assert.equal((await list(api, '?name-prefix=prod')).headers[FILTERED], undefined);
  });

  test('do not set the header for a partition that has no such peerings', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'prod-1');
    const { SecretID: token } = await api.makeToken(['peering:read@default=prod-*']);
    assert.equal((await list(api, '', { token })).headers[FILTERED], undefined);
    assert.equal((await list(api, '?partition=*', { token })).headers[FILTERED], undefined);
  });

  test('look like an empty list to a caller that may read none of them', async () => {
    await using api = await startApi();
    const { SecretID: token } = await api.makeToken(['peering:read@default=none']);
    const before = await list(api, '', { token });
    await mustGenerate(api, 'east');
    const after = await list(api, '', { token });
    assert.deepEqual([before.text, after.text], ['[]', '[]']);
    assert.equal(after.headers[FILTERED], 'true');
  });

  test('are determined per caller, although responses are shared', async () => {
    await using api = await startApi();
    for (const name of ['a', 'b', 'c']) await mustGenerate(api, name);
    const tokens = new Map<string, string>();
    for (const grants of [['a'], ['b'], ['a', 'c'], ['c', 'a']]) {
      const grant = `peering:read@default=${grants.join(',')}`;
      tokens.set((await api.makeToken([grant])).SecretID, grants.toSorted().join(' '));
    }
    for (let round = 0; round < 3; round++) {
      for (const [token, expected] of tokens) {
        assert.equal(names(await list(api, '', { token })).join(' '), expected);
      }
    }
  });
});

describe('query parameters of GET /v1/peerings [PEER-21]', () => {
  const shared = sharedApi();

  test('state selects the peerings in that state', async () => {
    await using api = await startApi();
    for (const name of ['a', 'b', 'c']) await mustGenerate(api, name);
    await api.request('DELETE', '/v1/peering/a');
    const { ID } = await mustReadRecord(api, 'b');
    await api.state.write((tx) => {
      const row = tx.get(peerings, ID)?.row;
      const next = row && streamOpened(row, { node: 'a', incarnation: 'i' });
      if (next !== undefined) tx.put(peerings, next);
    });
    assert.deepEqual(names(await list(api, '?state=TERMINATED')), ['a']);
    assert.deepEqual(names(await list(api, '?state=active')), ['b']);
    assert.deepEqual(names(await list(api, '?state=INITIAL')), ['c']);
    assert.deepEqual(names(await list(api, '?state=')), ['a', 'b', 'c']);
    assert.deepEqual(statusAndText(await list(api, '?state=FAILING')), [
      400,
      'Invalid state "FAILING": want INITIAL or ACTIVE or TERMINATED',
    ]);
  });

  test('`name-prefix`, `after`, and `limit` page through the list', async () => {
    const api = shared();
    for (const name of ['Prod-1', 'prod-2', 'PROD-3', 'prodigy', 'pro', 'east']) await mustGenerate(api, name);
    assert.deepEqual(names(await list(api, '?name-prefix=pRoD-')), ['Prod-1', 'prod-2', 'PROD-3']);
    assert.deepEqual(names(await list(api, '?name-prefix=prod-&limit=2')), ['Prod-1', 'prod-2']);
    assert.deepEqual(names(await list(api, '?name-prefix=prod-&limit=2&after=PROD-2')), ['PROD-3']);
    assert.deepEqual(names(await list(api, '?after=east&limit=1')), ['pro']);
    assert.deepEqual(names(await list(api, '?after=none-of-these&limit=1')), ['pro']);
    for (const limit of ['0', '-1', 'x', '1.5']) {
      const text = `Invalid limit "${limit}": want a whole number from 1`;
      assert.deepEqual(statusAndText(await list(api, `?limit=${limit}`)), [400, text]);
    }
  });

  test('`after` with a partition pages through peerings of equal names in several partitions', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu', 'us');
    for (const Partition of ['default', 'eu', 'us']) await mustGenerate(api, 'same', { Partition });
    const paged: string[] = [];
    let after = '';
    do {
      const page: PeeringJson[] = (await list(api, `?partition=*&limit=1&after=${after}`)).json();
      after = page.map(({ Name, Partition }) => `${Name}/${Partition}`).join();
      paged.push(...page.map(({ Partition = '' }) => Partition));
    } while (after !== '');
    assert.deepEqual(paged, ['default', 'Eu', 'us']);
    assert.deepEqual(names(await list(api, '?partition=*&after=same')), []);
  });

  test('`cached` returns the age of the result, and cannot be combined with `consistent` [V1-64] [V1-65]', async () => {
    const answer = await list(shared(), '?cached');
    assert.deepEqual([answer.headers['x-cache'], answer.headers.age], ['HIT', '0']);
    assert.deepEqual(statusAndText(await list(shared(), '?cached&consistent')), [
      400,
      'Cannot specify ?cached with ?consistent, conflicting semantics.',
    ]);
  });
});

describe('a blocking query of GET /v1/peerings', () => {
  test('wakes when a peering is created, changed or removed, and its index only increases', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    await api.makePartitions('eu');
    let index = indexOfAnswer(await list(api, '?partition=eu'));
    let id = '';
    const changes: readonly (() => Promise<unknown>)[] = [
      async () => {
        id = tokenContent(await mustGenerate(api, 'east', { Partition: 'eu' })).PeerID;
      },
      () => mustGenerate(api, 'east', { Partition: 'eu', Meta: { a: '1' } }),
      () => api.request('DELETE', '/v1/peering/east?partition=eu'),
      () => api.state.write((tx) => tx.delete(peerings, id)),
    ];
    for (const makeChange of changes) {
      const { answer } = await api.startBlockingQuery(`/v1/peerings?partition=eu&index=${index}`);
      await mustGenerate(api, `other${index}`);
      assert.equal(api.reads.waitingCount, 1, 'a peering of another partition wakes no query');
      await makeChange();
      const next = indexOfAnswer(await answer);
      assert.ok(next > index);
      index = next;
      assert.ok(indexOfAnswer(await list(api, '?partition=eu')) >= index);
    }
  });

  test('wakes when the grants of the caller change [V1-78]', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    for (const name of ['a', 'b']) await mustGenerate(api, name);
    const { AccessorID, SecretID: token } = await api.makeToken(['peering:read@default=a']);
    const grant = (...Names: string[]) => ({ Resource: 'peering', Access: 'read', Partition: 'default', Names });
    let before = await list(api, '', { token });
    for (const [grants, expected] of [
      [[grant('a', 'b')], ['a', 'b']],
      [[grant('b')], ['b']],
    ] as const) {
      const { answer } = await api.startBlockingQuery(`/v1/peerings?index=${indexOfAnswer(before)}`, { token });
      await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Grants: grants } });
      const after = await answer;
      assert.deepEqual(names(after), expected);
      assert.ok(indexOfAnswer(after) > indexOfAnswer(before));
      before = after;
    }
  });

  test('wakes with partition=* for a new partition, and for a peering in any', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    let index = indexOfAnswer(await list(api, '?partition=*'));
    for (const makeChange of [() => api.makePartitions('eu'), () => mustGenerate(api, 'east', { Partition: 'eu' })]) {
      const { answer } = await api.startBlockingQuery(`/v1/peerings?partition=*&index=${index}`);
      await makeChange();
      const next = indexOfAnswer(await answer);
      assert.ok(next > index);
      index = next;
    }
  });
});
