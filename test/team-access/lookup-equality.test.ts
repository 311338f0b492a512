/**
 * Checks that a request for a hidden resource makes the same table lookups as one for a missing resource, so that the
 * duration of a response reveals nothing [AUTHZ-13]. Covers every endpoint and every caller that cannot see its
 * resource. A resource that a caller may read but not change is not hidden, and may cost more. The clocks are fake, so
 * that only the first request of a token records its use.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../support/fake-clock.ts';
import { sharedApi, startApi } from '../support/process/api.ts';
import { type RecordedLookups, recordLookups } from '../support/state/recorded-lookups.ts';
import {
  callersWithoutVisibility,
  ENDPOINT_PERMISSIONS,
  type EndpointPermission,
} from '../support/team-access/endpoint-permissions.ts';
import { createOrganizationFixture, type OrganizationFixture } from '../support/team-access/organization-fixture.ts';
import { CALLERS, type Company, makeCompany, rowBody } from '../support/team-access/organizations.ts';
import { NOT_FOUND, request, resource, statusAndText, toOne } from '../support/team-access/team-access.ts';

const MISSING_NAMES: Readonly<Record<string, string>> = {
  organizations: 'nowhere',
  workspaces: 'ws-0000000000000000',
  teams: 'team-0000000000000000',
  projects: 'prj-0000000000000000',
  users: 'user-0000000000000000',
  'organization-memberships': 'ou-0000000000000000',
  'authentication-tokens': 'at-0000000000000000',
  'team-workspaces': 'tws-0000000000000000',
};

/** Returns the path with its last ID or name replaced by one of the same form that does not exist. */
function missingPath(endpoint: string, path: string): string {
  const pattern = (endpoint.split(' ')[1] ?? '').split('/');
  const segments = path.split('/');
  const place = pattern.findLastIndex((segment) => segment.startsWith(':'));
  const kind = segments[place - 1] ?? '';
  // The segment before `:workspace` is a name and not the kind of resource.
  segments[place] = pattern[place] === ':workspace' ? 'nowhere' : (MISSING_NAMES[kind] ?? 'nowhere');
  return segments.join('/');
}

describe('a hidden resource costs the lookups of a missing one [AUTHZ-13]:', () => {
  const clock = createFakeClock();
  const api = sharedApi({ clock });
  let started: Promise<{ readonly fixture: OrganizationFixture; readonly lookups: RecordedLookups }> | undefined;
  const start = () => {
    started ??= createOrganizationFixture(api()).then(async (fixture) => {
      // The expired token expires now.
      clock.advance(1);
      await request(api(), fixture.tokens.owner, 'POST', '/organizations', {
        body: { data: { type: 'organizations', attributes: { name: 'beta', email: 'b@example.org' } } },
      });
      return { fixture, lookups: recordLookups(api().state) };
    });
    return started;
  };

  for (const row of ENDPOINT_PERMISSIONS.filter(({ endpoint }) => endpoint.includes('/:'))) {
    test(`${row.endpoint}${row.target === undefined ? '' : `, ${row.target}`}`, async () => {
      const { fixture, lookups } = await start();
      const method = row.endpoint.split(' ')[0] ?? '';
      for (const caller of callersWithoutVisibility(row)) {
        const path = typeof row.path === 'string' ? row.path : await row.path(fixture);
        const lookupsFor = async (sentPath: string): Promise<readonly string[]> => {
          await api().usesWritten();
          lookups.clear();
          const answer = await request(api(), fixture.tokens[caller], method, sentPath, requestOf(row));
          assert.deepEqual(statusAndText(answer), NOT_FOUND, `${caller}: ${sentPath}`);
          return lookups.all();
        };
        // The first request of a token records its use.
        await lookupsFor(path);
        const expected = await lookupsFor(path);
        assert.deepEqual(expected, await lookupsFor(missingPath(row.endpoint, path)), `${caller}: ${path}`);
      }
    });
  }
});

const requestOf = ({ body, headers }: EndpointPermission) => ({
  ...(body !== undefined && { body }),
  ...(headers !== undefined && { headers }),
});

const MISSING_IDS = { row: 'tws-0000000000000000', team: 'team-0000000000000000', workspace: 'ws-0000000000000000' };
type Ids = typeof MISSING_IDS;

/** Requests that identify a row, its team or its workspace. */
const ROW_REQUESTS: readonly {
  readonly method: string;
  readonly path: (ids: Ids) => string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}[] = [
  { method: 'GET', path: ({ row }) => `/team-workspaces/${row}` },
  { method: 'GET', path: ({ row }) => `/team-workspaces/${row}?include=team,workspace` },
  { method: 'PATCH', path: ({ row }) => `/team-workspaces/${row}`, body: resource('team-workspaces', { access: 'x' }) },
  { method: 'DELETE', path: ({ row }) => `/team-workspaces/${row}`, headers: { 'if-match': '"never"' } },
  { method: 'GET', path: ({ workspace }) => `/team-workspaces?filter[workspace][id]=${workspace}` },
  { method: 'GET', path: ({ team }) => `/teams/${team}/team-workspaces` },
  { method: 'GET', path: ({ workspace }) => `/workspaces/${workspace}/effective-access` },
];

describe('a hidden row, team or workspace costs the lookups of a missing one [AUTHZ-13]:', () => {
  const api = sharedApi({ clock: createFakeClock() });
  let started: Promise<{ readonly company: Company; readonly lookups: RecordedLookups }> | undefined;
  const start = () => {
    started ??= makeCompany(api().state, 'acme').then((company) => ({ company, lookups: recordLookups(api().state) }));
    return started;
  };

  for (const { method, path, ...options } of ROW_REQUESTS) {
    test(`${method} ${path({ row: ':id', team: ':id', workspace: ':id' })}`, async () => {
      const { company, lookups } = await start();
      const secret = { row: company.rows.secret, team: company.teams.secret, workspace: company.workspaces.main };
      let compared = 0;
      for (const caller of CALLERS) {
        const observe = async (ids: Ids) => {
          lookups.clear();
          const answer = await request(api(), company.tokens[caller], method, path(ids), options);
          await api().usesWritten();
          return { answer: statusAndText(answer), lookups: lookups.all() };
        };
        const missing = await observe(MISSING_IDS);
        assert.deepEqual(missing.answer, NOT_FOUND);
        const read = await request(api(), company.tokens[caller], 'GET', path(secret));
        // The resource is not hidden from this caller.
        if (read.status === 200) continue;
        await api().usesWritten();
        const hidden = await observe(secret);
        compared += 1;
        assert.deepEqual(hidden, await observe(MISSING_IDS), caller);
      }
      assert.ok(compared >= 3, `${compared} callers`);
    });
  }

  test('POST /team-workspaces', async () => {
    const { company, lookups } = await start();
    for (const caller of ['outsider', 'owner-elsewhere', 'member-without-row', 'member-without-team'] as const) {
      const lookupsFor = async (workspace: string) => {
        lookups.clear();
        const body = rowBody(company.teams.hidden, workspace, {});
        const answer = await request(api(), company.tokens[caller], 'POST', '/team-workspaces', { body });
        await api().usesWritten();
        assert.deepEqual(statusAndText(answer), NOT_FOUND);
        return lookups.all();
      };
      await lookupsFor(MISSING_IDS.workspace);
      assert.deepEqual(await lookupsFor(company.workspaces.main), await lookupsFor(MISSING_IDS.workspace), caller);
    }
  });
});

test('a team or user of another organization costs the lookups of a missing one [AUTHZ-13] [AUTHZ-25]', async () => {
  await using api = await startApi({ clock: createFakeClock() });
  const acme = await createOrganizationFixture(api);
  const beta = await createOrganizationFixture(api, 'beta');
  const lookups = recordLookups(api.state);
  const manager = acme.tokens['workspaces-manager'];
  const lookupsFor = async (token: string | null, path: string, body: unknown): Promise<readonly string[]> => {
    await api.usesWritten();
    lookups.clear();
    assert.deepEqual(statusAndText(await request(api, token, 'POST', path, { body })), NOT_FOUND);
    return lookups.all();
  };
  const bodyWithTeam = (team: string) => ({
    data: {
      type: 'team-workspaces',
      attributes: { access: 'read' },
      relationships: { team: toOne('teams', team), workspace: toOne('workspaces', acme.workspace) },
    },
  });
  const add = (team: string) => lookupsFor(manager, '/team-workspaces', bodyWithTeam(team));
  await add(beta.visibleTeam);
  assert.deepEqual(await add(beta.secretTeam), await add('team-0000000000000000'));

  const members = `/teams/${acme.visibleTeam}/relationships/users`;
  const join = (id: string) => lookupsFor(acme.tokens.owner, members, { data: [{ type: 'users', id }] });
  await join('no-such-user');
  assert.deepEqual(await join('beta-owner'), await join('no-such-user'));

  const explain = async (user: string): Promise<readonly string[]> => {
    await api.usesWritten();
    lookups.clear();
    const path = `/workspaces/${acme.workspace}/effective-access?filter[user]=${user}`;
    assert.deepEqual(statusAndText(await request(api, acme.tokens.member, 'GET', path)), NOT_FOUND);
    return lookups.all();
  };
  await explain('no-such-user');
  const missingUser = await explain('user-0000000000000000');
  for (const user of ['acme-owner', 'beta-owner', acme.users.owner?.id ?? '']) {
    assert.deepEqual(await explain(user), missingUser, user);
  }
});
