import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { rejection } from '../../../../test/support/team-access/operations.ts';
import {
  type CallerKind,
  type Company,
  makeCompany,
  UNAUTHENTICATED,
} from '../../../../test/support/team-access/organizations.ts';
import {
  documentOf,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
  toOne,
} from '../../../../test/support/team-access/team-access.ts';
import { auditLog } from '../../../audit/record.ts';
import { BULK_ITEMS_MAX } from '../../limits.ts';

interface SetAnswer {
  readonly data: readonly ResourceObject[];
  readonly meta: {
    readonly 'dry-run': boolean;
    readonly counts: Readonly<Record<'added' | 'updated' | 'removed' | 'unchanged', number>>;
    readonly differences: readonly {
      readonly change: string;
      readonly team: { readonly id: string; readonly name: string | null };
      readonly before: ResourceObject | null;
      readonly after: ResourceObject | null;
    }[];
  };
}

type Json = Readonly<Record<string, unknown>>;

/** A row of a set that names its team by ID or by name. */
const byId = (id: string, attributes: Json) =>
  resource('team-workspaces', attributes, { team: toOne('teams', id) }).data;
const byName = (name: string, attributes: Json) =>
  resource('team-workspaces', { 'team-name': name, ...attributes }).data;

const idIn = (identifier: unknown): string => (identifier as { readonly id: string }).id;

describe('PUT /workspaces/:id/team-access', () => {
  // The fake clock does not advance, because background jobs and repeated uses of a token would add commits.
  const api = sharedApi({ clock: createFakeClock() });
  let company: Company;
  let created = 0;
  beforeEach(async () => {
    created += 1;
    company = await makeCompany(api().state, `set-${created}`);
  });

  const main = () => `/workspaces/${company.workspaces.main}/team-access`;
  const put = (
    data: unknown,
    {
      by = 'owner',
      query = '',
      headers = {},
    }: { by?: CallerKind; query?: string; headers?: Record<string, string> } = {},
  ) => request(api(), company.tokens[by], 'PUT', main() + query, { body: { data }, headers });
  const putAs = async (...args: Parameters<typeof put>) => {
    const answer = await put(...args);
    assert.equal(answer.status, 200, answer.text);
    return answer.json<SetAnswer>();
  };
  const list = () =>
    request(api(), company.tokens.owner, 'GET', `/team-workspaces?filter[workspace][id]=${company.workspaces.main}`);
  const entries = async () => {
    const log = await api().state.scan(auditLog, { limit: 100_000 }, AbortSignal.timeout(10_000));
    return log.map(({ row }) => row).filter(({ organizationId }) => organizationId === company.id);
  };
  /** The rows that every company starts with. */
  const currentRows = () => [
    byId(company.teams.visible, { access: 'write' }),
    byId(company.teams.secret, { access: 'plan' }),
    byId(company.teams.admins, { access: 'admin' }),
  ];

  test('replaces the rows and returns the differences [TEAM-75] [TEAM-81] [TEAM-82]', async () => {
    const { visible, secret, admins, idle } = company.teams;
    const wanted = [
      byName('IDLE', { access: 'custom', runs: 'plan', 'expires-at': '2999-01-01T00:00:00Z' }),
      byId(visible, { access: 'read' }),
      byId(secret, { access: 'plan' }),
    ];
    const { data, meta } = await putAs(wanted);
    assert.deepEqual(meta.counts, { added: 1, updated: 1, removed: 1, unchanged: 1 });
    assert.deepEqual(
      meta.differences.map(({ change, team, before, after }) => [
        change,
        team.id,
        team.name,
        before?.attributes['access'],
        after?.attributes['access'],
      ]),
      [
        ['added', idle, 'idle', undefined, 'custom'],
        ['updated', visible, 'visible', 'write', 'read'],
        ['removed', admins, 'admins', 'admin', undefined],
      ],
    );
    assert.equal(meta.differences[0]?.after?.attributes['expires-at'], '2999-01-01T00:00:00.000Z');
    assert.equal(meta['dry-run'], false);
    assert.deepEqual(documentOf<ResourceObject[]>(await list()).data, data);
    assert.deepEqual(
      (await entries()).map(({ action, subject }) => [action, subject]),
      [
        ['add_team', meta.differences[0]?.after?.id],
        ['update_team_permissions', company.rows.visible],
        ['remove_team', company.rows.admins],
      ],
    );
  });

  test('makes no commit when the rows already match [TEAM-83]', async () => {
    // The first request with a token stores its use.
    await list();
    await api().usesWritten();
    const { index } = api().state.snapshot;
    const { meta } = await putAs(currentRows());
    assert.deepEqual(meta.counts, { added: 0, updated: 0, removed: 0, unchanged: 3 });
    assert.deepEqual(meta.differences, []);
    assert.deepEqual(await entries(), []);
    await api().usesWritten();
    assert.equal(api().state.snapshot.index, index);
  });

  test('gives omitted attributes the values of a new row [TEAM-78]', async () => {
    const { visible } = company.teams;
    await putAs([
      byId(visible, { access: 'custom', variables: 'write', 'run-tasks': true, 'expires-at': '2999-01-01T00:00:00Z' }),
    ]);
    const { data } = await putAs([byId(visible, { access: 'custom', 'run-tasks': true })]);
    const { variables, 'run-tasks': tasks, 'expires-at': end } = data[0]?.attributes ?? {};
    assert.deepEqual([variables, tasks, end, data[0]?.id], ['none', true, undefined, company.rows.visible]);
  });

  test('removes all rows with an empty set', async () => {
    const { data, meta } = await putAs([]);
    assert.deepEqual([data, meta.counts.removed], [[], 3]);
  });

  test('answers a dry run like the real request and changes nothing [TEAM-86]', async () => {
    const wanted = [byId(company.teams.idle, { access: 'read' }), byId(company.teams.visible, { access: 'plan' })];
    const before = statusAndText(await list());
    const dry = await putAs(wanted, { query: '?dry-run=true' });
    assert.deepEqual(statusAndText(await list()), before);
    assert.deepEqual(await entries(), []);
    const real = await putAs(wanted);
    const added = real.meta.differences[0]?.after?.id ?? '';
    const announced = JSON.stringify(dry).replaceAll(dry.meta.differences[0]?.after?.id ?? '', added);
    assert.equal(announced.replace('"dry-run":true', '"dry-run":false'), JSON.stringify(real));
  });

  test('returns 412 when the rows have changed since the dry run [TEAM-84]', async () => {
    const wanted = [byId(company.teams.visible, { access: 'plan' })];
    const dry = await put(wanted, { query: '?dry-run=true' });
    const { etag = '' } = dry.headers;
    assert.equal(etag, (await list()).headers['etag']);
    await putAs([...currentRows(), byId(company.teams.idle, { access: 'read' })]);
    const late = await put(wanted, { headers: { 'if-match': String(etag) } });
    assert.equal(late.status, 412);
    const again = await put(wanted, { query: '?dry-run=true' });
    const real = await put(wanted, { headers: { 'if-match': String(again.headers['etag']) } });
    assert.equal(real.status, 200);
    assert.equal(real.headers['etag'], (await list()).headers['etag']);
  });

  test("can remove the caller's own permission [AUTHZ-27]", async () => {
    const { meta } = await putAs([byName('admins', { access: 'read' })], { by: 'admin-by-row' });
    assert.deepEqual(meta.counts, { added: 0, updated: 1, removed: 2, unchanged: 0 });
    assert.deepEqual(statusAndText(await put([], { by: 'admin-by-row' })), NOT_FOUND);
  });

  test('omits the names of secret teams that the caller cannot see [TEAM-82]', async () => {
    const { secret, hidden } = company.teams;
    const { meta } = await putAs([byId(hidden, { access: 'read' }), byId(secret, { access: 'read' })], {
      by: 'admin-by-row',
      query: '?dry-run=true',
    });
    assert.deepEqual(
      meta.differences.map(({ change, team: { name } }) => [change, name]),
      [
        ['added', null],
        ['updated', null],
        ['removed', 'visible'],
        ['removed', 'admins'],
      ],
    );
  });

  test('finds only visible teams by name [TEAM-76]', async () => {
    const named = (name: string) => [byId(company.teams.idle, { access: 'read' }), byName(name, { access: 'read' })];
    const hidden = await put(named('hidden'), { by: 'admin-by-row' });
    assert.deepEqual(rejection(hidden), [404, '/data/1/attributes/team-name']);
    assert.deepEqual(statusAndText(hidden), statusAndText(await put(named('nobody'), { by: 'admin-by-row' })));
    assert.equal((await put(named('hidden'))).status, 200);
  });

  test('returns 404 to callers who are not workspace admins [AUTHZ-84]', async () => {
    for (const by of ['in-visible-team', 'reader', 'member-without-team', 'outsider', 'site-admin'] as const) {
      assert.deepEqual(
        statusAndText(await put([{ type: 'team-workspaces', attributes: { 'team-name': 'x' } }], { by })),
        NOT_FOUND,
      );
    }
    for (const by of UNAUTHENTICATED) {
      assert.equal((await put([], { by })).status, 401);
    }
  });

  const read = { access: 'read' };
  const cases: readonly (readonly [string, (company: Company) => unknown, readonly string[], number?])[] = [
    ['data that is not an array', () => ({}), ['/data']],
    ['rows that are not objects', () => [7, byName('idle', read), null], ['/data/0', '/data/2']],
    ['rows without a type', () => [{ attributes: read }], ['/data/0/type']],
    ['rows without a team', () => [byName('idle', read), { type: 'team-workspaces' }], ['/data/1/relationships/team']],
    [
      'a team by id and by name',
      ({ teams }) => [{ ...byId(teams.idle, { ...read, 'team-name': 'idle' }) }],
      ['/data/0/relationships/team'],
    ],
    ['a name that is not a string', () => [byName(7 as never, read)], ['/data/0/attributes/team-name']],
    [
      'a team of another type',
      () => [resource('team-workspaces', read, { team: toOne('users', 'x') }).data],
      ['/data/0/relationships/team/data/type'],
    ],
    // [TEAM-77]
    [
      'another workspace',
      ({ workspaces }) => [
        resource(
          'team-workspaces',
          { 'team-name': 'idle', ...read },
          { workspace: toOne('workspaces', workspaces.other) },
        ).data,
      ],
      ['/data/0/relationships/workspace'],
    ],
    [
      'all missing teams',
      ({ teams }) => [byId('team-0', {}), byId(teams.idle, {}), byName('x', {})],
      ['/data/0/relationships/team', '/data/2/attributes/team-name'],
      404,
    ],
    [
      'all invalid attributes',
      ({ teams }) => [byId(teams.idle, {}), byName('visible', { access: 'read', runs: 'x' })],
      ['/data/0/attributes/access', '/data/1/attributes/runs', '/data/1/attributes/runs'],
    ],
    // [TEAM-80]
    [
      'a team twice, and owners',
      ({ teams }) => [byId(teams.idle, read), byName('idle', read), byId(teams.owners, read)],
      ['/data/1/attributes/team-name', '/data/2/relationships/team'],
    ],
  ];
  for (const [what, data, pointers, status = 422] of cases) {
    test(`returns ${status} for ${what} and changes nothing [TEAM-79]`, async () => {
      const before = statusAndText(await list());
      assert.deepEqual(rejection(await put(data(company))), [status, ...pointers]);
      assert.deepEqual(statusAndText(await list()), before);
    });
  }

  test('returns 422 for a visible team of another organization and 404 for a hidden one [TEAM-44]', async () => {
    const other = await makeCompany(api().state, `other-${created}`);
    assert.deepEqual(rejection(await put([byId(other.teams.idle, read)])), [404, '/data/0/relationships/team']);
    const body = resource('organization-memberships', { email: `set-${created}-owner@example.org` });
    const path = `/organizations/other-${created}/organization-memberships`;
    const joined = await request(api(), other.tokens.owner, 'POST', path, { body });
    assert.equal(joined.status, 201, joined.text);
    assert.deepEqual(rejection(await put([byId(other.teams.idle, read)])), [422, '/data/0/relationships/team']);
  });

  test(`returns 413 for more than ${BULK_ITEMS_MAX} rows [TEAM-85]`, async () => {
    const tooMany = await put(Array.from({ length: BULK_ITEMS_MAX + 1 }, () => 0));
    assert.equal(tooMany.status, 413);
    assert.match(tooMany.text, /The set has 10001 rows, want at most 10000/);
  });

  test('applies each of several concurrent sets completely', async () => {
    const { idle, visible, secret, hidden } = company.teams;
    const sets = [[idle, visible], [visible, secret, hidden], [hidden], [secret, idle]];
    const racing = Array.from({ length: 50 }, (_, i) => sets[i % sets.length] ?? []);
    const answers = await Promise.all(racing.map((teams) => put(teams.map((id) => byId(id, read)))));
    assert.ok(answers.every(({ status }) => status === 200));
    const left = documentOf<ResourceObject[]>(await list()).data.map(({ relationships }) =>
      idIn(relationships['team']?.data),
    );
    assert.ok(sets.some((teams) => JSON.stringify(teams.toSorted()) === JSON.stringify(left.toSorted())));
  });
});
