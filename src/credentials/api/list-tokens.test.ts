import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';
import { ANSWER_CHARACTERS_MAX } from '../../http/limits.ts';
import { aclTokens } from '../acl-token.ts';
import type { AclTokenJson } from '../acl-token-to-json.ts';
import type { Credentials, RequestContext } from '../caller.ts';
import { hashSecret } from '../ids-and-secrets.ts';
import { listTokens, type TokenPage } from './list-tokens.ts';

const list = (api: Api, query = '', token = api.token): Promise<Answer> =>
  api.request('GET', `/v1/acl/tokens${query}`, { token });
const ids = (answer: Answer): string[] => answer.json<AclTokenJson[]>().map(({ AccessorID }) => AccessorID);
const FILTERED = 'x-service-results-filtered-by-acls';

describe('GET /v1/acl/tokens', () => {
  test('returns 400 for a response that would be too long, and serves pages [V1-37]', async () => {
    await using api = await startApi();
    const { state } = api;
    const [row] = state.snapshot.all(aclTokens).map((stored) => stored.row);
    assert.ok(row !== undefined);
    // Fewer and larger rows than the API accepts, with the same number of bytes.
    const description = 'x'.repeat(ANSWER_CHARACTERS_MAX / 16);
    for (let i = 0; i < 16; i++) {
      const id = randomUUID();
      await state.write((tx) => tx.put(aclTokens, { ...row, accessorId: id, secretHash: id, description }));
    }
    const whole = await list(api);
    assert.equal(
      `${whole.status} ${whole.text}`,
      '400 The answer would be longer than 67108864 characters: ask for fewer with limit, and go on with after',
    );
    const page = await list(api, '?limit=2');
    assert.deepEqual([page.status, ids(page).length], [200, 2]);
    assert.equal((await list(api, `?after=${ids(page)[1]}&limit=2`)).status, 200);
  });

  test('shares the text of the whole list and not of pages, because callers choose pages freely', async () => {
    await using api = await startApi();
    const { state } = api;
    const credentials: Credentials = {
      state,
      policy: { enabled: true, defaultPolicy: 'deny' },
      edition: 'enterprise',
    };
    const context: RequestContext = {
      secretHash: hashSecret(api.token),
      partitions: { query: undefined, header: undefined },
      address: '',
      requestId: '',
      connection: { destroyed: false },
      bodyBytes: 0,
    };
    const isShared = (page: TokenPage): boolean =>
      listTokens(credentials, context, page)(state.snapshot).shareKey !== undefined;
    assert.deepEqual(
      [
        isShared({ after: undefined, limit: undefined }),
        isShared({ after: undefined, limit: 10 }),
        isShared({ after: 'a', limit: undefined }),
      ],
      [true, false, false],
    );
  });

  test('returns the tokens of one partition by accessor ID without secret IDs [ACL-45]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    assert.equal((await list(api, '?partition=eu')).text, '[]');
    const made = [await api.makeToken([], { Partition: 'eu' }), await api.makeToken([], { Partition: 'eu' })];
    const answer = await list(api, '?partition=EU');
    assert.deepEqual(ids(answer), made.map(({ AccessorID }) => AccessorID).toSorted());
    assert.ok(!answer.text.includes('SecretID'));
    assert.equal(answer.headers[FILTERED], undefined);
    assert.equal((await list(api)).json<unknown[]>().length, 1, "defaults to the caller's partition");
  });

  test('returns the readable tokens of all partitions and sets the filter header when it omits some [ACL-53] [ACL-51] [V1-89]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    const eu = await api.makeToken(['acl:read@eu'], { Partition: 'eu' });
    const us = await api.makeToken(['acl:read@*'], { Partition: 'us' });
    const all = await list(api, '?partition=*');
    assert.equal(ids(all).length, 3);
    assert.deepEqual(ids(all), ids(all).toSorted());
    assert.equal(all.headers[FILTERED], undefined);
    assert.deepEqual(ids(await list(api, '?partition=*', us.SecretID)), ids(all));
    const part = await list(api, '?partition=*', eu.SecretID);
    assert.deepEqual([ids(part), part.headers[FILTERED]], [[eu.AccessorID], 'true']);
    const none = await list(api, '?partition=*', (await api.makeToken(['peering:write@*'])).SecretID);
    assert.equal(none.status, 403);
    assert.match(none.text, /lacks permission 'acl:read'$/);
  });

  test('omits a token from the millisecond of its expiration, although the list is shared', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    for (const ExpirationTTL of ['1m', '2m', '2m', '3m']) await api.makeToken([], { ExpirationTTL });
    for (const count of [5, 4, 2, 1]) {
      for (const attempt of [1, 2]) assert.equal(ids(await list(api)).length, count, `attempt ${attempt}`);
      clock.advance(60_000);
    }
  });

  test('returns pages with limit and after', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    for (const Partition of ['default', 'eu', 'default', 'eu']) await api.makeToken([], { Partition });
    for (const scope of ['partition=default', 'partition=*']) {
      const whole = ids(await list(api, `?${scope}`));
      const paged: string[] = [];
      for (let after = ''; ; ) {
        const page = ids(await list(api, `?${scope}&limit=2&after=${after.toUpperCase()}`));
        paged.push(...page);
        if (page.length < 2) break;
        after = page[1] ?? '';
      }
      assert.deepEqual(paged, whole);
    }
  });

  test('rejects an invalid limit [V1-19]', async () => {
    await using api = await startApi();
    for (const limit of ['0', '-1', 'x', '1e3', '1.5', '9999999999']) {
      const answer = await list(api, `?limit=${limit}`);
      assert.deepEqual([answer.status, answer.text], [400, `Invalid limit "${limit}": want a whole number from 1`]);
    }
  });

  test('checks the grant before the existence of the partition [ACL-50]', async () => {
    await using api = await startApi();
    const { SecretID } = await api.makeToken(['acl:read@default']);
    assert.equal((await list(api, '?partition=nowhere', SecretID)).status, 403);
    const answer = await list(api, '?partition=nowhere');
    assert.deepEqual([answer.status, answer.text], [400, 'partition "nowhere" does not exist']);
  });
});

describe('a query that waits for a list of tokens', () => {
  const indexOf = (answer: Answer): number => Number(answer.headers['x-service-index']);

  test('wakes when a token of the partition is created, changed or deleted, and its index only increases', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    await api.makePartitions('eu');
    let index = indexOf(await list(api, '?partition=eu'));
    let id = '';
    const changes: readonly (() => Promise<unknown>)[] = [
      async () => {
        id = (await api.makeToken([], { Partition: 'eu' })).AccessorID;
      },
      () => api.request('PUT', `/v1/acl/token/${id}`, { body: { Description: 'x' } }),
      () => api.request('DELETE', `/v1/acl/token/${id}`),
    ];
    for (const change of changes) {
      const { answer } = await api.startBlockingQuery(`/v1/acl/tokens?partition=eu&index=${index}`);
      await api.makeToken([]);
      assert.equal(api.reads.waitingCount, 1, 'a token of another partition does not wake it');
      await change();
      const next = indexOf(await answer);
      assert.ok(next > index);
      index = next;
      assert.ok(indexOf(await list(api, '?partition=eu')) >= index);
    }
  });

  test('with partition=* wakes when a partition is created', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const first = await list(api, '?partition=*');
    const { answer } = await api.startBlockingQuery(`/v1/acl/tokens?partition=*&index=${indexOf(first)}`);
    await api.makePartitions('eu');
    assert.ok(indexOf(await answer) > indexOf(first));
  });

  test("with partition=* wakes when the caller's grants change, and its index increases", async () => {
    await using api = await startApi({ clock: createFakeClock() });
    await api.makePartitions('eu', 'us', 'ops');
    await api.makeToken([], { Partition: 'us' });
    const { AccessorID, SecretID } = await api.makeToken(['acl:read@eu'], { Partition: 'ops' });
    await api.makeToken([], { Partition: 'eu' });
    const grant = (Partition: string) => ({ Resource: 'acl', Access: 'read', Partition });
    let before = await list(api, '?partition=*', SecretID);
    for (const grants of [[grant('eu'), grant('us')], [grant('us')]]) {
      const { answer } = await api.startBlockingQuery(`/v1/acl/tokens?partition=*&index=${indexOf(before)}`, {
        token: SecretID,
      });
      await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Grants: grants } });
      const after = await answer;
      assert.notEqual(after.text, before.text);
      assert.ok(indexOf(after) > indexOf(before));
      before = after;
    }
  });
});
