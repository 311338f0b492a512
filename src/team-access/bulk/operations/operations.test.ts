import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';
import {
  OPERATIONS_TYPE,
  rejection,
  resultsOf,
  sendOperations,
} from '../../../../test/support/team-access/operations.ts';
import { rowBody, sharedCompany } from '../../../../test/support/team-access/organizations.ts';
import {
  documentOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
  statusAndText,
  toOne,
} from '../../../../test/support/team-access/team-access.ts';
import { auditLog, SYSTEM } from '../../../audit/record.ts';
import { toServiceError } from '../../../http/errors.ts';
import { systemClock } from '../../../state/clock/clock.ts';
import { runAtOnce } from '../../../state/clock/slices.ts';
import { BULK_ITEMS_MAX, OPERATIONS_MS_MAX } from '../../limits.ts';
import { readOperations } from './read-operations.ts';
import { runOperations } from './run-operations.ts';

describe('POST /operations', () => {
  // The fake clock does not advance, so that no background job and no repeated token use adds a commit.
  const api = sharedApi({ clock: createFakeClock() });
  const company = sharedCompany(api);
  const ids = () => company().company;
  const run = (operations: readonly unknown[], query = '') =>
    sendOperations(api(), company().owner, operations, { query });
  const get = async (path: string) => documentOf(await request(api(), company().owner, 'GET', path)).data;
  const addTeam = (name: string, lid?: string) => ({
    op: 'add',
    data: {
      type: 'teams',
      ...(lid !== undefined && { lid }),
      attributes: { name },
      relationships: { organization: toOne('organizations', 'acme') },
    },
  });
  const addRow = (team: object, access = 'read') => ({
    op: 'add',
    data: {
      type: 'team-workspaces',
      attributes: { access },
      relationships: { team: { data: team }, workspace: toOne('workspaces', ids().workspaces.other) },
    },
  });
  /** Returns the whole state, including the audit log. */
  const everything = async () => {
    await api().usesWritten();
    const { index } = api().state.snapshot;
    const log = await api().state.scan(auditLog, { limit: 100_000 }, AbortSignal.timeout(10_000));
    const tables = api().state.schema.tables.filter(({ storeOnly }) => storeOnly !== true);
    return { index, log, rows: tables.map((table) => api().state.snapshot.all(table)) };
  };

  test('adds, updates, and removes every resource type in order [TEAM-62] [TEAM-63] [TEAM-70]', async () => {
    const results = resultsOf(
      await run([
        addTeam('every', 't'),
        { op: 'update', ref: { type: 'teams', lid: 't' }, data: { type: 'teams', attributes: { description: 'd' } } },
        {
          op: 'add',
          data: {
            type: 'organization-memberships',
            lid: 'm',
            attributes: { email: 'every@example.org' },
            relationships: { organization: toOne('organizations', 'acme') },
          },
        },
        {
          op: 'add',
          ref: { type: 'teams', lid: 't', relationship: 'organization-memberships' },
          data: [{ type: 'organization-memberships', lid: 'm' }],
        },
        addRow({ type: 'teams', lid: 't' }),
      ]),
    );
    assert.deepEqual(
      results.map(({ data }) => data?.type),
      ['teams', 'teams', 'organization-memberships', undefined, 'team-workspaces'],
    );
    const [team, , membership, , row] = results.map(({ data }) => data?.id ?? '');
    const kept = await get(`/teams/${team}`);
    assert.equal(kept.attributes['description'], 'd');
    assert.deepEqual(kept.relationships['organization-memberships']?.data, [
      { type: 'organization-memberships', id: membership },
    ]);
    assert.deepEqual(await get(`/team-workspaces/${row}`), results[4]?.data);

    const removed = resultsOf(
      await run([
        { op: 'update', data: { type: 'team-workspaces', id: row, attributes: { access: 'write' } } },
        { op: 'remove', href: `/api/v2/team-workspaces/${row}` },
        {
          op: 'remove',
          href: `/api/v2/teams/${team}/relationships/users`,
          data: [{ type: 'users', id: 'every' }],
        },
        { op: 'remove', ref: { type: 'organization-memberships', id: membership } },
        { op: 'remove', ref: { type: 'teams', id: team } },
      ]),
    );
    assert.equal(removed[0]?.data?.attributes['access'], 'write');
    assert.deepEqual(removed.slice(1), [{}, {}, {}, {}]);
    assert.equal((await request(api(), company().owner, 'GET', `/teams/${team}`)).status, 404);
  });

  test('accepts paths of endpoints as targets [TEAM-64] [TEAM-65]', async () => {
    const results = resultsOf(
      await run([
        {
          op: 'add',
          href: '/api/v2/organizations/acme/teams',
          data: { type: 'teams', lid: 'p', attributes: { name: 'by-path' } },
        },
        {
          op: 'add',
          href: '/api/v2/organizations/acme/organization-memberships',
          data: {
            type: 'organization-memberships',
            attributes: { email: 'by-path@example.org' },
            relationships: { teams: { data: [{ type: 'teams', lid: 'p' }] } },
          },
        },
        { ...addRow({ type: 'teams', lid: 'p' }), href: '/api/v2/team-workspaces' },
      ]),
    );
    assert.deepEqual(results[1]?.data?.relationships['teams']?.data, [{ type: 'teams', id: results[0]?.data?.id }]);
  });

  test('adds the same audit entries as the endpoints for single changes [TEAM-67]', async () => {
    const entries = async (make: (team: string) => Promise<void>, name: string) => {
      const before = (await everything()).log.length;
      await make(name);
      const log = (await everything()).log.slice(before).map(({ row }) => row);
      // IDs, times, and places differ, so the comparison omits them.
      return log.map(({ action, type, actor, address, organizationId, before: from, after }) => {
        const own = (key: string, value: unknown) => (key === 'createTime' || key === 'place' ? undefined : value);
        const text = JSON.stringify({ action, type, actor, address, organizationId, from, after }, own);
        return text.replaceAll(/(team|tws)-[A-Za-z0-9]{16}/g, '$1').replaceAll(name, 'NAME');
      });
    };
    const together = await entries(async (name) => {
      resultsOf(
        await run([
          addTeam(name, 't'),
          addRow({ type: 'teams', lid: 't' }),
          { op: 'remove', ref: { type: 'teams', lid: 't' } },
        ]),
      );
    }, 'audited-together');
    const single = await entries(async (name) => {
      const { owner } = company();
      const body = resource('teams', { name });
      const { id } = documentOf(await request(api(), owner, 'POST', '/organizations/acme/teams', { body })).data;
      const row = rowBody(id, ids().workspaces.other, { access: 'read' });
      documentOf(await request(api(), owner, 'POST', '/team-workspaces', { body: row }));
      assert.equal((await request(api(), owner, 'DELETE', `/teams/${id}`)).status, 204);
    }, 'audited-alone');
    assert.deepEqual(together, single);
    assert.equal(together.length, 3);
  });

  test('changes nothing when an operation is rejected [TEAM-60]', async () => {
    const before = await everything();
    const answer = await run([
      addTeam('half', 't'),
      addRow({ type: 'teams', lid: 't' }),
      addRow({ type: 'teams', id: ids().teams.idle }, 'nothing'),
    ]);
    assert.deepEqual(rejection(answer), [422, '/atomic:operations/2/data/attributes/access']);
    assert.deepEqual(await everything(), before);
  });

  test('answers a dry run like the real request and changes nothing [TEAM-86] [TEAM-88]', async () => {
    const list = [
      addTeam('dry', 't'),
      { op: 'update', data: { type: 'team-workspaces', id: ids().rows.visible, attributes: { access: 'read' } } },
      { op: 'remove', ref: { type: 'team-workspaces', id: ids().rows.visible } },
      { op: 'remove', ref: { type: 'teams', id: ids().teams.hidden } },
    ];
    const before = await everything();
    const answer = await run(list, '?dry-run=true');
    const results = resultsOf(answer);
    assert.deepEqual(await everything(), before);
    assert.deepEqual(answer.json<{ meta: unknown }>().meta, { 'dry-run': true });
    assert.deepEqual(
      results.map(({ data, meta }) => [data?.attributes['access'] ?? data?.type, meta?.before.attributes['access']]),
      [
        ['teams', undefined],
        ['read', 'write'],
        [undefined, 'read'],
        [undefined, undefined],
      ],
    );
    assert.equal(results[3]?.meta?.before.id, ids().teams.hidden);
    assert.deepEqual(rejection(await run([...list, ...list], '?dry-run=true')), [422, '/atomic:operations/4/data/lid']);
  });

  test('answers an empty list with an empty list [AUTHZ-85]', async () => {
    assert.deepEqual(statusAndText(await run([])), [200, '{"atomic:results":[],"meta":{"dry-run":false}}']);
  });

  test('counts as one request for the rate limit [TEAM-93]', async () => {
    await using limited = await startApi({ rateLimit: 10 });
    await makeOrganization(limited, limited.adminToken, 'acme');
    const answer = await sendOperations(
      limited,
      limited.adminToken,
      ['one', 'two', 'three'].map((name) => addTeam(name)),
    );
    assert.equal(resultsOf(answer).length, 3);
    const left = Number(answer.headers['x-ratelimit-remaining']);
    // Two requests were made, of which the current window contains one or both.
    assert.ok(left >= 8, `${left} of 10 are left`);
  });

  test('makes one commit [TEAM-60]', async () => {
    await api().usesWritten();
    const { index } = api().state.snapshot;
    resultsOf(await run(['one', 'two', 'three'].map((name) => addTeam(`commit-${name}`))));
    assert.equal(api().state.snapshot.index, index + 1);
  });

  test('creates one row out of concurrent requests for a pair, and the others get its ID [TEAM-53]', async () => {
    const [team] = resultsOf(await run([addTeam('raced')]));
    const add = addRow({ type: 'teams', id: team?.data?.id });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => run([addTeam(`racer-${i}`), add])));
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    const row = resultsOf(won[0] as (typeof answers)[number])[1]?.data as ResourceObject;
    for (const answer of answers) {
      if (answer === won[0]) continue;
      assert.deepEqual(rejection(answer), [422, '/atomic:operations/1/data/relationships/team']);
      const { errors } = answer.json<{ errors: { meta: unknown }[] }>();
      assert.deepEqual(errors[0]?.meta, { 'existing-id': row.id });
    }
    const racers = await request(api(), company().owner, 'GET', '/organizations/acme/teams?q=racer-');
    assert.equal(documentOf<ResourceObject[]>(racers).data.length, 1);
  });

  test('reports no existing ID for a pair that the same request adds twice [TEAM-69]', async () => {
    const [team] = resultsOf(await run([addTeam('doubled')]));
    const add = addRow({ type: 'teams', id: team?.data?.id });
    const twice = await run([add, add]);
    assert.deepEqual(rejection(twice), [422, '/atomic:operations/1/data/relationships/team']);
    const { errors } = twice.json<{ errors: { detail: unknown; meta?: unknown }[] }>();
    assert.deepEqual([errors[0]?.detail, errors[0]?.meta], ['Team has already been taken', undefined]);
    const [created] = resultsOf(await run([add]));
    const again = (await run([addTeam('beside'), add])).json<{ errors: { meta: unknown }[] }>().errors;
    assert.deepEqual(again[0]?.meta, { 'existing-id': created?.data?.id });
  });

  test(`returns 413 for more than ${BULK_ITEMS_MAX} operations, including each member [TEAM-71]`, async () => {
    const nothing = Array.from({ length: BULK_ITEMS_MAX + 1 }, () => ({}));
    const tooMany = await run(nothing);
    assert.equal(tooMany.status, 413);
    assert.match(tooMany.text, /The request has 10001 operations, each member counted: want at most 10000/);
    assert.equal((await run(nothing.slice(1))).status, 422);
    const data = Array.from({ length: BULK_ITEMS_MAX + 1 }, (_, i) => ({ type: 'users', id: `u${i}` }));
    const members = [{ op: 'add', ref: { type: 'teams', id: 'x', relationship: 'users' }, data }];
    assert.equal((await run(members)).status, 413);
    const teams = { data: Array.from({ length: BULK_ITEMS_MAX }, (_, i) => ({ type: 'teams', id: `t${i}` })) };
    const relationships = { organization: toOne('organizations', 'acme'), teams };
    const joins = [{ op: 'add', data: { type: 'organization-memberships', relationships } }];
    assert.match((await run(joins)).text, /The request has 10001 operations/);
  });

  test('returns 413 and changes nothing when the operations take too long [TEAM-72]', async () => {
    let now = 0;
    const clock = { ...systemClock, monotonic: () => (now += OPERATIONS_MS_MAX / 2) };
    const caller = { kind: 'organization', organizationId: ids().id, tokenId: '' } as const;
    const body = JSON.stringify({ 'atomic:operations': ['a', 'b', 'c'].map((name) => addTeam(name)) });
    const list = runAtOnce(readOperations(Buffer.from(body)));
    const slow = api().state.write((tx) =>
      runAtOnce(
        runOperations({ tx, caller, origin: SYSTEM, invitations: 'automatic' }, list, {
          clock,
          dryRun: false,
          terraform: false,
        }),
      ),
    );
    await assert.rejects(
      slow,
      (error) => toServiceError(error).status === 413 && /2 of 3 operations took/.test(String(error)),
    );
    const found = await request(api(), company().owner, 'GET', '/organizations/acme/teams?filter[names]=a,b,c');
    assert.deepEqual(documentOf<ResourceObject[]>(found).data, []);
  });

  test('accepts bodies up to limits.bulk-body [TEAM-21]', async () => {
    const body = `{"atomic:operations":[],"x":[${`"${'x'.repeat(1000)}",`.repeat(2_000)}0]}`;
    const headers = { 'content-type': OPERATIONS_TYPE };
    const send = (text: string) => request(api(), company().owner, 'POST', '/operations', { body: text, headers });
    assert.equal((await send(body)).status, 200);
    const answer = await send('x'.repeat(16 * 1024 * 1024 + 1));
    assert.equal(answer.status, 413);
    assert.match(answer.text, /limits\.bulk-body/);
  });
});
