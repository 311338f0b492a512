/** Callers who manage teams cannot gain access that they lack, by any row or by its expiry. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { sendOperations } from '../../../test/support/team-access/operations.ts';
import { addToTeam, join, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import { putTeamWorkspace, putWorkspace, rowBody } from '../../../test/support/team-access/organizations.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  request,
  resource,
} from '../../../test/support/team-access/team-access.ts';
import { COMPARED_LOOKUPS_MAX } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { teamMembers } from '../tables/team.ts';
import { createAccess, teamWorkspaces } from '../tables/team-workspace.ts';

const SOON = '2100-01-01T00:00:00Z';
const LATER = '2200-01-01T00:00:00Z';

describe('a caller who manages teams but is no owner', () => {
  const api = sharedApi({ clock: createFakeClock() });
  const admin = () => api().adminToken;
  let token = '';
  let username = '';
  let membership = '';
  let own = '';
  let ws = '';
  let other = '';
  let made = 0;

  const ask = (method: string, path: string, body?: unknown) =>
    request(api(), token, method, path, body === undefined ? {} : { body });
  const workspace = async (name: string) =>
    documentOf(
      await request(api(), admin(), 'POST', '/organizations/acme/workspaces', {
        body: resource('workspaces', { name }),
      }),
    ).data.id;
  const row = async (team: string, at: string, attributes: Readonly<Record<string, unknown>>) =>
    documentOf(await request(api(), admin(), 'POST', '/team-workspaces', { body: rowBody(team, at, attributes) })).data
      .id;
  /** Creates a visible team with rows, none of whose members is the caller. */
  const teamWith = async (...rows: readonly (readonly [string, Readonly<Record<string, unknown>>])[]) => {
    made += 1;
    const { id } = await makeTeam(api(), admin(), 'acme', { name: `team-${made}`, visibility: 'organization' });
    for (const [at, attributes] of rows) await row(id, at, attributes);
    return id;
  };
  const joins = (team: string) =>
    ask('POST', `/teams/${team}/relationships/users`, { data: [{ type: 'users', id: username }] });

  before(async () => {
    await makeOrganization(api(), admin(), 'acme');
    const user = await makeUser(api(), 'manager');
    token = user.token;
    username = user.username;
    membership = await join(api(), admin(), 'acme', 'manager');
    const permissions = { 'manage-organization-access': true, 'access-secret-teams': true };
    const attributes = { name: 'own', 'organization-access': permissions };
    own = (await makeTeam(api(), admin(), 'acme', attributes)).id;
    await addToTeam(api(), admin(), own, 'manager');
    ws = await workspace('main');
    other = await workspace('other');
    await row(own, ws, { access: 'custom', runs: 'apply', variables: 'read', 'expires-at': SOON });
  });

  const EXCEEDING = [
    ['admin', { access: 'admin', 'expires-at': SOON }],
    ['one attribute more', { access: 'custom', variables: 'write', 'expires-at': SOON }],
    ['the same access without an end', { access: 'custom', runs: 'apply' }],
    ['the same access for longer', { access: 'custom', runs: 'apply', 'expires-at': LATER }],
  ] as const;
  for (const [description, attributes] of EXCEEDING) {
    test(`is refused every use of a team whose row grants ${description} [AUTHZ-44] [AUTHZ-47]`, async () => {
      const team = await teamWith([ws, { access: 'custom', 'expires-at': SOON }]);
      assert.equal((await joins(team)).status, 204, 'a team with less may be joined');
      const more = await teamWith([ws, attributes]);
      const teams = { teams: { data: [{ type: 'teams', id: more }] } };
      const asMember = { data: [{ type: 'organization-memberships', id: membership }] };
      const attempts: readonly (readonly [string, string, unknown?])[] = [
        ['POST', `/teams/${more}/relationships/users`, { data: [{ type: 'users', id: username }] }],
        ['POST', `/teams/${more}/relationships/organization-memberships`, asMember],
        ['PATCH', `/teams/${more}`, resource('teams', { 'sso-team-id': 'mine' })],
        ['PATCH', `/teams/${more}`, resource('teams', { 'allow-member-token-management': true })],
        ['DELETE', `/teams/${more}`],
        [
          'POST',
          '/organizations/acme/organization-memberships',
          resource('organization-memberships', { email: 'friend@example.org' }, teams),
        ],
      ];
      for (const [method, path, body] of attempts) {
        const answer = await ask(method, path, body);
        assert.equal(answer.status, 403, `${method} ${path} ${answer.text}`);
        const detail = String(errorsOf(answer)[0]?.['detail']);
        assert.match(
          detail,
          /^the team 'team-\d+' has access to a workspace that you do not have, or has it for longer/,
        );
        assert.ok(!detail.includes(ws));
      }
      const answer = await sendOperations(api(), token, [
        { op: 'add', ref: { type: 'teams', id: more, relationship: 'users' }, data: [{ type: 'users', id: username }] },
      ]);
      assert.equal(answer.status, 403, answer.text);
      const path = `/teams/${more}/authentication-token`;
      assert.equal((await ask('POST', path, resource('authentication-tokens', {}))).status, 404);
      const permissions = documentOf(await ask('GET', `/teams/${more}`)).data.attributes['permissions'];
      assert.equal((permissions as Record<string, boolean>)['can-update-membership'], false);
    });
  }

  test('is refused a team with a row on a workspace that they cannot access, also after others [AUTHZ-44]', async () => {
    assert.equal((await joins(await teamWith([other, { access: 'read' }]))).status, 403);
    const both = await teamWith([ws, { access: 'custom', 'expires-at': SOON }], [other, { access: 'custom' }]);
    assert.equal((await joins(both)).status, 403);
  });

  test('removes a member from a team whose rows grant more [AUTHZ-47]', async () => {
    const team = await teamWith([other, { access: 'admin' }]);
    await makeUser(api(), 'leaver');
    await join(api(), admin(), 'acme', 'leaver');
    await addToTeam(api(), admin(), team, 'leaver');
    const body = { data: [{ type: 'users', id: 'leaver' }] };
    assert.equal((await ask('DELETE', `/teams/${team}/relationships/users`, body)).status, 204);
  });

  test('changes a team whose rows they hold as a member, or by manage-workspaces [AUTHZ-44]', async () => {
    const team = await teamWith([other, { access: 'admin' }]);
    const rename = resource('teams', { description: 'ours' });
    assert.equal((await ask('PATCH', `/teams/${team}`, rename)).status, 403);
    await addToTeam(api(), admin(), team, 'manager');
    assert.equal((await ask('PATCH', `/teams/${team}`, rename)).status, 200);
    const manager = await makeTeam(api(), admin(), 'acme', {
      name: 'workspace-managers',
      'organization-access': { 'manage-workspaces': true, 'manage-membership': true },
    });
    const user = await makeUser(api(), 'workspace-manager');
    await join(api(), admin(), 'acme', 'workspace-manager');
    await addToTeam(api(), admin(), manager.id, 'workspace-manager');
    const body = { data: [{ type: 'users', id: 'workspace-manager' }] };
    const path = `/teams/${await teamWith([other, { access: 'admin' }])}/relationships/users`;
    assert.equal((await request(api(), user.token, 'POST', path, { body })).status, 204);
  });

  test('is refused a comparison that takes too many lookups, which an owner does not need [AUTHZ-44]', async () => {
    const team = await teamWith();
    await api().state.write((tx) => {
      const organizationId = tx.find(organizations, 'name', 'acme')?.row.id ?? '';
      // A row costs at least three lookups, because the caller is in two teams.
      for (let i = 0; i <= COMPARED_LOOKUPS_MAX / 3; i++)
        putTeamWorkspace(tx, team, putWorkspace(tx, organizationId, `many-${i}`), createAccess('custom', {}));
    });
    const before = await joins(team);
    assert.match(before.text, /has access to a workspace that you do not have/);
    const readers = { name: 'run-readers', 'organization-access': { 'read-workspaces': true } };
    const reading = (await makeTeam(api(), admin(), 'acme', readers)).id;
    await addToTeam(api(), admin(), reading, 'manager');
    const answer = await joins(team);
    assert.equal(answer.status, 403);
    assert.match(String(errorsOf(answer)[0]?.['detail']), /takes more than 10000 lookups/);
    await addToTeam(api(), admin(), team, 'manager');
  });

  test('is charged the lookups for the access to which a row returns [AUTHZ-44]', async () => {
    const readers = await makeTeam(api(), admin(), 'acme', {
      name: 'base-readers',
      'organization-access': { 'read-workspaces': true },
    });
    await addToTeam(api(), admin(), readers.id, 'manager');
    const statuses: number[] = [];
    for (const name of ['lasting', 'returning']) {
      const team = await teamWith();
      await api().state.write((tx) => {
        const organizationId = tx.find(organizations, 'name', 'acme')?.row.id ?? '';
        const callerTeams = tx.list(teamMembers, 'membership', membership).length;
        for (let i = 0; i < Math.floor(COMPARED_LOOKUPS_MAX / (1 + callerTeams)); i++) {
          const access = createAccess('custom', {});
          const id = putTeamWorkspace(tx, team, putWorkspace(tx, organizationId, `${name}-${i}`), access);
          const row = tx.get(teamWorkspaces, id)?.row;
          if (row === undefined) throw new Error('no row');
          if (name === 'returning') tx.put(teamWorkspaces, { ...row, expiresAtMs: Date.parse(SOON), base: access });
        }
      });
      statuses.push((await joins(team)).status);
    }
    assert.deepEqual(statuses, [204, 403]);
  });
});

describe('a workspace admin whose access ends', () => {
  const api = sharedApi({ clock: createFakeClock() });
  const admin = () => api().adminToken;
  let token = '';
  let temporary = '';
  let own = '';
  let ws = '';
  const ask = (method: string, path: string, body?: unknown) =>
    request(api(), token, method, path, body === undefined ? {} : { body });

  before(async () => {
    await makeOrganization(api(), admin(), 'acme');
    token = (await makeUser(api(), 'temporary')).token;
    await join(api(), admin(), 'acme', 'temporary');
    for (const name of ['temporary', 'own', 'friends']) {
      const { id } = await makeTeam(api(), admin(), 'acme', { name, visibility: 'organization' });
      if (name === 'temporary') temporary = id;
      if (name === 'own') own = id;
      if (name !== 'friends') await addToTeam(api(), admin(), id, 'temporary');
    }
    const body = resource('workspaces', { name: 'main' });
    ws = documentOf(await request(api(), admin(), 'POST', '/organizations/acme/workspaces', { body })).data.id;
    const grants = rowBody(temporary, ws, { access: 'admin', 'expires-at': SOON });
    assert.equal((await request(api(), admin(), 'POST', '/team-workspaces', { body: grants })).status, 200);
  });

  test('cannot give access that lasts longer, in a row, an operation or a complete set [AUTHZ-86]', async () => {
    const isRefused = (answer: Awaited<ReturnType<typeof ask>>, what: string) => {
      assert.equal(answer.status, 403, `${what} ${answer.text}`);
      const detail = String(errorsOf(answer)[0]?.['detail']);
      assert.match(detail, /^your admin access to the workspace ends at 2100-01-01T00:00:00.000Z: give the row/, what);
    };
    const snapshot = api().state.snapshot.tables.get(teamWorkspaces);
    isRefused(await ask('POST', '/team-workspaces', rowBody(own, ws, { access: 'read' })), 'a new row');
    const late = { access: 'read', 'expires-at': LATER };
    isRefused(await ask('POST', '/team-workspaces', rowBody(own, ws, late)), 'a new row that ends later');
    const add = { op: 'add', ...rowBody(own, ws, { access: 'admin' }) };
    isRefused(await sendOperations(api(), token, [add]), 'an operation');
    const [data] = documentOf<{ id: string }[]>(await ask('GET', `/team-workspaces?filter[workspace][id]=${ws}`)).data;
    const forever = resource('team-workspaces', { 'expires-at': null });
    isRefused(await ask('PATCH', `/team-workspaces/${data?.id}`, forever), 'its own row without an end');
    const set = { data: [rowBody(temporary, ws, { access: 'admin' }).data] };
    isRefused(await ask('PUT', `/workspaces/${ws}/team-access`, set), 'a complete set');
    assert.equal(api().state.snapshot.tables.get(teamWorkspaces), snapshot, 'nothing has changed');
  });

  test('raises a row until its own end, but not the access that the row returns to [AUTHZ-86] [TEAM-115]', async () => {
    const forever = rowBody(own, ws, { access: 'read' });
    const { id } = documentOf(await request(api(), admin(), 'POST', '/team-workspaces', { body: forever })).data;
    const patch = (attributes: Readonly<Record<string, unknown>>) =>
      ask('PATCH', `/team-workspaces/${id}`, resource('team-workspaces', attributes));
    assert.equal((await patch({ access: 'admin', 'expires-at': SOON })).status, 200);
    assert.equal((await patch({ access: 'admin' })).status, 403);
    assert.equal((await patch({ 'expires-at': null })).status, 403);
    assert.equal((await ask('DELETE', `/team-workspaces/${id}`)).status, 204);
  });

  test('gives access that ends with its own, and lowers access that lasts longer [AUTHZ-86]', async () => {
    const created = await ask('POST', '/team-workspaces', rowBody(own, ws, { access: 'admin', 'expires-at': SOON }));
    assert.equal(created.status, 200, created.text);
    const { id } = documentOf(created).data;
    const patch = (by: string, attributes: Readonly<Record<string, unknown>>) =>
      request(api(), by, 'PATCH', `/team-workspaces/${id}`, { body: resource('team-workspaces', attributes) });
    assert.equal((await patch(admin(), { access: 'write', 'expires-at': null })).status, 200);
    assert.equal((await patch(token, { access: 'admin' })).status, 403);
    assert.equal((await patch(token, { access: 'custom', variables: 'none' })).status, 200);
    assert.equal((await patch(token, { access: 'read' })).status, 403, 'read has more variables than the row');
    assert.equal((await ask('DELETE', `/team-workspaces/${id}`)).status, 204);
  });
});
