import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';
import type { AuditEntryJson } from '../../audit/read-audit.ts';
import { auditLog, recordChange, SYSTEM } from '../../audit/record.ts';

const audit = (api: Api, query = '', token = api.token): Promise<Answer> =>
  api.request('GET', `/v1/audit${query}`, { token });
const entries = async (api: Api, query = ''): Promise<AuditEntryJson[]> =>
  (await audit(api, query)).json<AuditEntryJson[]>();
const FILTERED = 'x-service-results-filtered-by-acls';
const BEFORE = 'x-service-before';
/** The number of audit entries of the first start. */
const FIRST_START_ENTRIES = 4;

describe('the audit log', () => {
  test('begins with the entries of the first start, whose actor is system [SRV-88]', async () => {
    await using api = await startApi();
    const first = await entries(api);
    assert.equal(first.length, FIRST_START_ENTRIES);
    assert.deepEqual(
      first.map(({ Actor, Address, Action, Type }) => [Actor, Address, Action, Type]),
      [
        ['system', '', 'create', 'certificate-authority'],
        ['system', '', 'create', 'user-token'],
        ['system', '', 'create', 'acl-token'],
        ['system', '', 'create', 'partition'],
      ],
    );
  });

  test('returns every field of an entry, newest entry first [SRV-87] [SRV-90] [ACL-65]', async () => {
    const clock = createFakeClock(Date.UTC(2030, 0, 1));
    await using api = await startApi({ clock });
    const caller = await api.makeToken(['acl:write', 'operator:write@*']);
    const asCaller = { token: caller.SecretID, headers: { 'x-request-id': 'from-a-test' } };
    const put = (path: string, body: unknown) => api.request('PUT', path, { ...asCaller, body });
    const steps: (readonly [action: string, type: string, subject: string, before: unknown, after: unknown])[] = [];
    const eu = (await put('/v1/partition/eu', {})).json();
    steps.push(['create', 'partition', 'eu', null, eu]);
    const europe = (await put('/v1/partition/eu', { Description: 'Europe' })).json();
    steps.push(['update', 'partition', 'eu', eu, europe]);
    await api.request('DELETE', '/v1/partition/eu', asCaller);
    steps.push(['delete', 'partition', 'eu', europe, null]);
    const { SecretID, ...made } = (await put('/v1/acl/token', {})).json<{ AccessorID: string; SecretID: string }>();
    steps.push(['create', 'acl-token', made.AccessorID, null, made]);
    const changed = (await put(`/v1/acl/token/${made.AccessorID}`, { Description: 'x' })).json();
    steps.push(['update', 'acl-token', made.AccessorID, made, changed]);
    await api.request('DELETE', `/v1/acl/token/${made.AccessorID}`, asCaller);
    steps.push(['delete', 'acl-token', made.AccessorID, changed, null]);

    const answer = await audit(api, `?limit=${steps.length}`);
    const expected = steps.toReversed().map(([Action, Type, Subject, Before, After]) => ({
      Time: '2030-01-01T00:00:00.000Z',
      Actor: caller.AccessorID,
      Address: '127.0.0.1',
      RequestID: 'from-a-test',
      Action,
      Type,
      Subject,
      Partition: Type === 'partition' ? 'eu' : 'default',
      Before,
      After,
    }));
    assert.equal(answer.text, JSON.stringify(expected));
    assert.ok(!answer.text.includes(SecretID));
  });

  test('has an entry in the commit of each change, and no entry for a request without an effect [SRV-86]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const { AccessorID, ModifyIndex } = await api.makeToken([]);
    await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Description: '' } });
    await api.request('PUT', '/v1/partition/eu', { body: {} });
    await api.request('DELETE', '/v1/partition/nowhere');
    await api.request('PUT', '/v1/acl/token', { body: { Partition: 'nowhere' } });
    await api.request('PUT', '/v1/acl/token', { body: {}, token: null });
    const stored = await api.state.scan(auditLog, { limit: 100 }, new AbortController().signal);
    assert.deepEqual(
      stored.slice(FIRST_START_ENTRIES).map(({ row, modifyIndex }) => [row.subject, modifyIndex]),
      [
        ['eu', ModifyIndex - 1],
        [AccessorID, ModifyIndex],
      ],
    );
  });

  test('has one entry for each change of a batch', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 40 }, (_, i) => `p${i}`);
    await Promise.all(names.map((name) => api.makePartitions(name)));
    const subjects = (await entries(api)).map(({ Subject }) => Subject);
    assert.deepEqual(subjects.slice(0, 40).toSorted(), names.toSorted());
  });
});

describe('GET /v1/audit', () => {
  test('accepts since and limit [SRV-90]', async () => {
    const clock = createFakeClock(Date.UTC(2030, 0, 1));
    await using api = await startApi({ clock });
    for (const name of ['a', 'b', 'c']) {
      clock.advance(60_000);
      await api.makePartitions(name);
    }
    const subjects = async (query: string) => (await entries(api, query)).map(({ Subject }) => Subject);
    assert.deepEqual(await subjects('?since=2030-01-01T00:02:00Z'), ['c', 'b']);
    assert.deepEqual(await subjects('?since=2030-01-01T01:02:00%2B01:00&limit=1'), ['c']);
    assert.deepEqual(await subjects('?limit=2'), ['c', 'b']);
    assert.deepEqual(await subjects('?since=2031-01-01T00:00:00Z'), []);
    assert.equal((await subjects('?since=&limit=')).length, FIRST_START_ENTRIES + 3);
  });

  test('examines at most 8 MiB per request and returns X-Service-Before [SRV-92]', async () => {
    await using api = await startApi();
    const after = 'x'.repeat(1024 * 1024);
    const change = { action: 'create', type: 'thing', partition: 'default', before: null, after };
    for (const subject of ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
      await api.state.write((tx) => recordChange(tx, SYSTEM, { ...change, subject }));
    }
    const first = await audit(api, '?limit=10000');
    assert.deepEqual([first.status, first.json<unknown[]>().length], [200, 7]);
    const rest = await audit(api, `?limit=10000&before=${first.headers[BEFORE]}`);
    assert.equal(rest.json<unknown[]>().length, 3 + FIRST_START_ENTRIES);
    assert.equal(rest.headers[BEFORE], undefined);
  });

  test('rejects invalid parameters before it looks up the token', async () => {
    await using api = await startApi();
    const bad = [
      ['since=yesterday', 'Invalid since "yesterday": want a time such as 2026-01-31T00:00:00Z'],
      ['since=2026-01-31', 'Invalid since "2026-01-31": want a time such as 2026-01-31T00:00:00Z'],
      ['limit=0', 'Invalid limit "0": want a whole number from 1 to 10000'],
      ['limit=10001', 'Invalid limit "10001": want a whole number from 1 to 10000'],
      ['limit=x', 'Invalid limit "x": want a whole number from 1 to 10000'],
      ['before=1', 'Invalid before "1": want the X-Service-Before of an earlier answer'],
    ] as const;
    for (const [query, text] of bad) {
      const answer = await audit(api, `?${query}`, 'unknown');
      assert.deepEqual([answer.status, answer.text], [400, text]);
    }
  });

  test('omits entries that the caller may not read and sets the filter header [SRV-91] [ACL-51]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    await api.makeToken([], { Partition: 'us' });
    const eu = await api.makeToken(['operator:read@eu']);
    const partitionsOf = (answer: Answer) => [
      ...new Set(answer.json<AuditEntryJson[]>().map((entry) => entry.Partition)),
    ];
    const all = await audit(api);
    assert.deepEqual([partitionsOf(all).toSorted(), all.headers[FILTERED]], [['default', 'eu', 'us'], undefined]);
    for (const query of ['', '?partition=*', '?limit=1']) {
      const part = await audit(api, query, eu.SecretID);
      assert.deepEqual([partitionsOf(part), part.headers[FILTERED]], [['eu'], 'true'], query);
    }
    const one = await audit(api, '?partition=EU', eu.SecretID);
    assert.deepEqual([partitionsOf(one), one.headers[FILTERED]], [['eu'], undefined]);
    assert.deepEqual(partitionsOf(await audit(api, '?partition=us')), ['us']);
    const denied = await audit(api, '?partition=us', eu.SecretID);
    assert.equal(denied.status, 403);
    const missing = await audit(api, '?partition=nowhere');
    assert.deepEqual([missing.status, missing.text], [400, 'partition "nowhere" does not exist']);
  });

  test('returns every entry once over several pages', async () => {
    await using api = await startApi();
    await api.makePartitions('a', 'b', 'c', 'd');
    const all = await entries(api);
    const pages: AuditEntryJson[] = [];
    let query = '?limit=2';
    for (let page = 1; page <= all.length; page++) {
      const answer = await audit(api, query);
      pages.push(...answer.json<AuditEntryJson[]>());
      const before = answer.headers[BEFORE];
      if (before === undefined) break;
      query = `?limit=2&before=${before}`;
      // New entries are newer than X-Service-Before, so later pages do not contain them.
      await api.makePartitions(`later-${page}`);
    }
    assert.deepEqual(pages, all);
  });

  test('omits X-Service-Before when no older entries exist', async () => {
    const clock = createFakeClock(Date.UTC(2030, 0, 1));
    await using api = await startApi({ clock });
    clock.advance(60_000);
    await api.makePartitions('a', 'b');
    for (const query of ['', `?limit=${FIRST_START_ENTRIES + 2}`, '?since=2030-01-01T00:01:00Z']) {
      assert.equal((await audit(api, query)).headers[BEFORE], undefined, query);
    }
    assert.notEqual((await audit(api, '?since=2030-01-01T00:01:00Z&limit=1')).headers[BEFORE], undefined);
  });

  test('returns the entries of a deleted partition', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    await api.request('DELETE', '/v1/partition/eu');
    assert.deepEqual(
      (await entries(api, '?limit=2')).map(({ Action, Subject }) => [Action, Subject]),
      [
        ['delete', 'eu'],
        ['create', 'eu'],
      ],
    );
  });

  test('returns every entry once when it reads several pages of the store', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 1_300 }, (_, i) => `p${i}`);
    for (let i = 0; i < names.length; i += 100) {
      await Promise.all(names.slice(i, i + 100).map((name) => api.makePartitions(name)));
    }
    const found = (await entries(api, '?limit=10000')).map(({ Subject }) => Subject);
    assert.equal(found.length, names.length + FIRST_START_ENTRIES);
    assert.equal((await entries(api)).length, 100, 'the default limit');
    assert.deepEqual(found.slice(0, names.length).toSorted(), names.toSorted());
  });
});
