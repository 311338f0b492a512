/**
 * How long an answer takes must not tell what it keeps secret: whoever asks for something that they may not know of makes
 * the very look-ups that they make for something which is not there. Checked for every row of the tables of
 * authorization, and every caller to whom its thing is unknown. What somebody may read and not change is no secret to
 * them, and may cost more. Clocks are held, so that the use of a token is written down once, by its first request.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../support/fake-clock.ts';
import { sharedApi, startApi } from '../support/process/api.ts';
import { type RecordedLookups, recordLookups } from '../support/state/recorded-lookups.ts';
import { CALLERS, type Company, makeCompany, rowBody } from '../support/team-access/organizations.ts';
import { NOT_FOUND, request, resource, seen, to } from '../support/team-access/team-access.ts';
import { type Row, rows, unknownTo } from '../support/team-access/team-access-rows.ts';
import { makeWorld, type World } from '../support/team-access/team-access-world.ts';

const NOWHERE: Readonly<Record<string, string>> = {
  organizations: 'nowhere',
  workspaces: 'ws-0000000000000000',
  teams: 'team-0000000000000000',
  projects: 'prj-0000000000000000',
  users: 'user-0000000000000000',
  'organization-memberships': 'ou-0000000000000000',
  'authentication-tokens': 'at-0000000000000000',
  'team-workspaces': 'tws-0000000000000000',
};

/** The path with the name of its thing replaced by one of the same form that nothing has. */
function absent(endpoint: string, path: string): string {
  const pattern = (endpoint.split(' ')[1] ?? '').split('/');
  const segments = path.split('/');
  // The last name is what the request is about; those before it are where that is.
  const place = pattern.findLastIndex((segment) => segment.startsWith(':'));
  const kind = segments[place - 1] ?? '';
  // By its name a workspace is found in its organization.
  segments[place] = pattern[place] === ':workspace' ? 'nowhere' : (NOWHERE[kind] ?? 'nowhere');
  return segments.join('/');
}

describe('who may not know of something makes the look-ups for what is not there:', () => {
  const clock = createFakeClock();
  const api = sharedApi({ clock });
  let started: Promise<{ readonly world: World; readonly lookUps: RecordedLookups }> | undefined;
  const start = () => {
    started ??= makeWorld(api()).then(async (world) => {
      // For the token that has expired.
      clock.advance(1);
      await request(api(), world.tokens.owner, 'POST', '/organizations', {
        body: { data: { type: 'organizations', attributes: { name: 'beta', email: 'b@example.org' } } },
      });
      return { world, lookUps: recordLookups(api().state) };
    });
    return started;
  };

  for (const row of rows.filter(({ endpoint }) => endpoint.includes('/:'))) {
    test(`${row.endpoint}${row.on === undefined ? '' : `, ${row.on}`}`, async () => {
      const { world, lookUps } = await start();
      const method = row.endpoint.split(' ')[0] ?? '';
      for (const caller of unknownTo(row)) {
        const path = typeof row.path === 'string' ? row.path : await row.path(world);
        const ask = async (at: string): Promise<readonly string[]> => {
          await api().usesWritten();
          lookUps.clear();
          const answer = await request(api(), world.tokens[caller], method, at, requestOf(row));
          assert.deepEqual(seen(answer), NOT_FOUND, `${caller}: ${at}`);
          return lookUps.all();
        };
        // The first request of a token writes down that it was used.
        await ask(path);
        assert.deepEqual(await ask(path), await ask(absent(row.endpoint, path)), `${caller}: ${path}`);
      }
    });
  }
});

const requestOf = ({ body, headers }: Row) => ({
  ...(body !== undefined && { body }),
  ...(headers !== undefined && { headers }),
});

const ABSENT = { row: 'tws-0000000000000000', team: 'team-0000000000000000', workspace: 'ws-0000000000000000' };
type Ids = typeof ABSENT;

/** Every way to ask about a row, its team or its workspace. */
const ABOUT_ROWS: readonly {
  readonly what: string;
  readonly path: (ids: Ids) => string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}[] = [
  { what: 'GET', path: ({ row }) => `/team-workspaces/${row}` },
  { what: 'GET', path: ({ row }) => `/team-workspaces/${row}?include=team,workspace` },
  { what: 'PATCH', path: ({ row }) => `/team-workspaces/${row}`, body: resource('team-workspaces', { access: 'x' }) },
  { what: 'DELETE', path: ({ row }) => `/team-workspaces/${row}`, headers: { 'if-match': '"never"' } },
  { what: 'GET', path: ({ workspace }) => `/team-workspaces?filter[workspace][id]=${workspace}` },
  { what: 'GET', path: ({ team }) => `/teams/${team}/team-workspaces` },
  { what: 'GET', path: ({ workspace }) => `/workspaces/${workspace}/effective-access` },
];

describe('who may not know of a row, its team or its workspace makes the look-ups for what is not there:', () => {
  const api = sharedApi({ clock: createFakeClock() });
  let started: Promise<{ readonly company: Company; readonly lookUps: RecordedLookups }> | undefined;
  const start = () => {
    started ??= makeCompany(api().state, 'acme').then((company) => ({ company, lookUps: recordLookups(api().state) }));
    return started;
  };

  for (const { what, path, ...options } of ABOUT_ROWS) {
    test(`${what} ${path({ row: ':id', team: ':id', workspace: ':id' })}`, async () => {
      const { company, lookUps } = await start();
      const secret = { row: company.rows.secret, team: company.teams.secret, workspace: company.workspaces.main };
      let compared = 0;
      for (const caller of CALLERS) {
        const ask = async (ids: Ids) => {
          lookUps.clear();
          const answer = await request(api(), company.tokens[caller], what, path(ids), options);
          await api().usesWritten();
          return { answer: seen(answer), lookUps: lookUps.all() };
        };
        const onAbsent = await ask(ABSENT);
        assert.deepEqual(onAbsent.answer, NOT_FOUND);
        const read = await request(api(), company.tokens[caller], 'GET', path(secret));
        // What somebody may read and not change is no secret to them.
        if (read.status === 200) continue;
        await api().usesWritten();
        const onSecret = await ask(secret);
        compared += 1;
        assert.deepEqual(onSecret, await ask(ABSENT), caller);
      }
      assert.ok(compared >= 3, `${compared} callers`);
    });
  }

  test('POST /team-workspaces', async () => {
    const { company, lookUps } = await start();
    for (const caller of ['outsider', 'owner-elsewhere', 'member-without-row', 'member-without-team'] as const) {
      const ask = async (workspace: string) => {
        lookUps.clear();
        const body = rowBody(company.teams.hidden, workspace, {});
        const answer = await request(api(), company.tokens[caller], 'POST', '/team-workspaces', { body });
        await api().usesWritten();
        assert.deepEqual(seen(answer), NOT_FOUND);
        return lookUps.all();
      };
      await ask(ABSENT.workspace);
      assert.deepEqual(await ask(company.workspaces.main), await ask(ABSENT.workspace), caller);
    }
  });
});

test('a workspace admin who names a team learns nothing of other organizations, nor a member of strangers', async () => {
  await using api = await startApi({ clock: createFakeClock() });
  const acme = await makeWorld(api);
  const beta = await makeWorld(api, 'beta');
  const lookUps = recordLookups(api.state);
  const manager = acme.tokens['workspaces-manager'];
  const ask = async (by: string | null, path: string, body: unknown): Promise<readonly string[]> => {
    await api.usesWritten();
    lookUps.clear();
    assert.deepEqual(seen(await request(api, by, 'POST', path, { body })), NOT_FOUND);
    return lookUps.all();
  };
  const naming = (team: string) => ({
    data: {
      type: 'team-workspaces',
      attributes: { access: 'read' },
      relationships: { team: to('teams', team), workspace: to('workspaces', acme.workspace) },
    },
  });
  const add = (team: string) => ask(manager, '/team-workspaces', naming(team));
  await add(beta.visibleTeam);
  assert.deepEqual(await add(beta.secretTeam), await add('team-0000000000000000'));

  const members = `/teams/${acme.visibleTeam}/relationships/users`;
  const join = (id: string) => ask(acme.tokens.owner, members, { data: [{ type: 'users', id }] });
  await join('nobody-at-all');
  assert.deepEqual(await join('beta-owner'), await join('nobody-at-all'));

  const explain = async (user: string): Promise<readonly string[]> => {
    await api.usesWritten();
    lookUps.clear();
    const path = `/workspaces/${acme.workspace}/effective-access?filter[user]=${user}`;
    assert.deepEqual(seen(await request(api, acme.tokens.member, 'GET', path)), NOT_FOUND);
    return lookUps.all();
  };
  await explain('nobody-at-all');
  const absentUser = await explain('user-0000000000000000');
  for (const user of ['acme-owner', 'beta-owner', acme.users.owner?.id ?? '']) {
    assert.deepEqual(await explain(user), absentUser, user);
  }
});
