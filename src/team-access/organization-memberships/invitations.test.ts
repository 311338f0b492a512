/** Invitations with `team-access.invitations = accept`: a person joins and becomes an owner only by accepting. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { recordLookups } from '../../../test/support/state/recorded-lookups.ts';
import { resultsOf, sendOperations } from '../../../test/support/team-access/operations.ts';
import { addToTeam, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  type JsonApiDocument,
  makeOrganization,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
  toOne,
} from '../../../test/support/team-access/team-access.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { until } from '../../../test/support/until.ts';
import { auditLog } from '../../audit/record.ts';
import { newId } from '../../credentials/ids-and-secrets.ts';
import { users } from '../../credentials/user.ts';
import { sqliteEngine } from '../../state/engine/sqlite/engine.ts';
import { INVITATION_TEAMS_MAX, INVITED_INTERVAL_MS, INVITED_MAX } from '../limits.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teamMembers } from '../tables/team.ts';
import { unclaimedUsersJob } from '../users/remove-unclaimed-users.ts';

const OWN = '/organization-memberships';
const membersPath = (organization: string) => `/organizations/${organization}/organization-memberships`;
const accept = (api: Api, token: string, id: string) => request(api, token, 'POST', `${OWN}/${id}/actions/accept`);
const invite = (api: Api, token: string, organization: string, email: string, ...teams: readonly string[]) =>
  request(api, token, 'POST', membersPath(organization), {
    body: resource(
      'organization-memberships',
      { email },
      { teams: { data: teams.map((id) => ({ type: 'teams', id })) } },
    ),
  });
const userOf = ({ relationships }: ResourceObject): string =>
  (relationships['user']?.data as { readonly id: string } | undefined)?.id ?? '';
const own = async (api: Api, token: string, query = '') =>
  documentOf<ResourceObject[]>(await request(api, token, 'GET', `${OWN}${query}`)).data;
const ownersTeam = async (api: Api, token: string, organization: string): Promise<string> => {
  const path = `/organizations/${organization}/teams?filter[names]=owners`;
  return documentOf<ResourceObject[]>(await request(api, token, 'GET', path)).data[0]?.id ?? '';
};
/** Creates an organization. @returns the token of its owner, and the ID of `owners` */
const makeOwned = async (api: Api, name: string) => {
  const { token } = await makeUser(api, `${name}-owner`);
  await makeOrganization(api, token, name);
  return { token, owners: await ownersTeam(api, token, name) };
};
/** Sorts arrays, because members of a team are in the order of random IDs. For `JSON.parse`. */
const sortedArray = (_: string, value: unknown): unknown =>
  Array.isArray(value) ? value.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : value;
const entriesOf = async (api: Api, subject: string) => {
  const entries = await api.state.scan(auditLog, { limit: 10_000 }, new AbortController().signal);
  return entries.map(({ row }) => row).filter((entry) => entry.subject === subject);
};

describe('an invitation that awaits acceptance', () => {
  const clock = createFakeClock();
  const api = sharedApi({ invitations: 'accept', clock });
  const admin = () => api().adminToken;
  let token = '';
  let owners = '';
  before(async () => {
    ({ token, owners } = await makeOwned(api(), 'acme'));
  });

  test('answers the same and costs the same whether or not an account exists [AUTHZ-95] [AUTHZ-92]', async () => {
    const site = { username: 'known', email: 'Known@example.org', 'is-site-admin': true };
    await request(api(), admin(), 'POST', '/admin/users', { body: resource('users', site) });
    const lookups = recordLookups(api().state);
    const observe = async (name: string) => {
      lookups.clear();
      const answers = [await invite(api(), token, 'acme', `${name}@example.org`, owners)];
      const { data } = documentOf(answers[0] ?? assert.fail());
      const { id } = data;
      const user = userOf(data);
      const ask = async (path: string) => void answers.push(await request(api(), token, 'GET', path));
      await ask(`${OWN}/${id}?include=user,teams`);
      await ask(`${membersPath('acme')}?q=${name}&include=user,teams`);
      await ask(`${membersPath('acme')}?filter[email]=${name}@example.org&filter[status]=invited`);
      await ask(`/users/${user}`);
      await ask(`/users/${name}`);
      await ask(`/users/${user}/effective-access?filter[organization]=acme`);
      await ask(`/users/${name}/effective-access?filter[organization]=acme`);
      await ask(`/teams/${owners}?include=users,organization-memberships`);
      answers.push(await invite(api(), token, 'acme', `${name.toUpperCase()}@example.org`));
      const member = { data: [{ type: 'users', id: name }] };
      const members = `/teams/${owners}/relationships/users`;
      answers.push(await request(api(), token, 'POST', members, { body: member }));
      answers.push(await request(api(), token, 'DELETE', `${OWN}/${id}?transfer-to=${name}`));
      answers.push(await request(api(), token, 'DELETE', `${OWN}/${id}`));
      const add = { organization: toOne('organizations', 'acme') };
      const operation = { op: 'add', ...resource('organization-memberships', { email: `${name}@example.org` }, add) };
      answers.push(await sendOperations(api(), token, [operation], { query: '?dry-run=true' }));
      await api().usesWritten();
      const texts = answers.map(({ status, text }) => {
        const normalized = text
          .replaceAll(id, 'ou-ID')
          .replaceAll(user, 'user-ID')
          .replaceAll(/(ou|user)-\w{16}"/g, '$1-OTHER"')
          .replaceAll(/avatar\/[0-9a-f]+/g, 'avatar/HASH')
          .replaceAll(new RegExp(name, 'gi'), 'NAME');
        return `${status} ${normalized === '' ? '' : JSON.stringify(JSON.parse(normalized, sortedArray))}`;
      });
      return { texts, lookups: lookups.all() };
    };
    await observe('first');
    const unknown = await observe('wnonk');
    assert.deepEqual(await observe('known'), unknown);
    assert.equal(unknown.texts.length, 14);
    assert.match(unknown.texts[0] ?? '', /^201 .*"status":"invited"/);
    for (const text of unknown.texts) assert.doesNotMatch(text, /is-site-admin|is-suspended/);
  });

  test('gives nothing until the person accepts, then the membership and its teams in one commit [AUTHZ-96]', async () => {
    const ann = await makeUser(api(), 'ann');
    const dev = (await makeTeam(api(), token, 'acme', { name: 'ann-dev' })).id;
    const { data } = documentOf(await invite(api(), token, 'acme', 'ANN@example.org', dev, owners));
    assert.notEqual(userOf(data), ann.id);
    for (const path of ['/organizations/acme', `/teams/${dev}`, `/teams/${owners}`, membersPath('acme')])
      assert.deepEqual(statusAndText(await request(api(), ann.token, 'GET', path)), NOT_FOUND, path);
    assert.deepEqual(documentOf(await request(api(), ann.token, 'GET', '/organizations')).data, []);
    const addTeam = resource('teams', { name: 'mine' });
    const created = await request(api(), ann.token, 'POST', '/organizations/acme/teams', { body: addTeam });
    assert.deepEqual(statusAndText(created), NOT_FOUND);

    // The person reads the invitation without the teams, because they see no team yet.
    const read = documentOf(await request(api(), ann.token, 'GET', `${OWN}/${data.id}?include=user,teams`));
    assert.deepEqual(read.data.relationships['teams']?.data, []);
    assert.deepEqual(
      read.included?.map(({ type }) => type),
      ['users'],
    );

    await api().usesWritten();
    const { index } = api().state.snapshot;
    const accepted = documentOf(await accept(api(), ann.token, data.id)).data;
    assert.equal(api().state.snapshot.index, index + 1);
    assert.deepEqual([accepted.id, userOf(accepted), accepted.attributes['status']], [data.id, ann.id, 'active']);
    const teams = accepted.relationships['teams']?.data as readonly { readonly id: string }[];
    assert.deepEqual(teams.map(({ id }) => id).toSorted(), [dev, owners].toSorted());
    assert.equal((await request(api(), ann.token, 'POST', '/organizations/acme/teams', { body: addTeam })).status, 200);
    assert.equal(api().state.snapshot.get(users, userOf(data)), undefined);
    const entries = await entriesOf(api(), data.id);
    assert.deepEqual(
      entries.map(({ actor, action, organizationId }) => [actor === ann.id, action, organizationId !== undefined]),
      [
        [false, 'create', true],
        [true, 'accept', true],
      ],
    );

    const { index: before } = api().state.snapshot;
    assert.deepEqual(documentOf(await accept(api(), ann.token, data.id)).data, accepted);
    assert.equal(api().state.snapshot.index, before);
    const members = documentOf<ResourceObject[]>(await request(api(), token, 'GET', `/teams/${dev}`));
    assert.deepEqual((members.data as unknown as ResourceObject).relationships['users']?.data, [
      { id: ann.id, type: 'users' },
    ]);
  });

  test('returns 404 to every other caller who accepts it [AUTHZ-96]', async () => {
    const eve = await makeUser(api(), 'eve');
    await makeUser(api(), 'bob');
    const { id } = documentOf(await invite(api(), token, 'acme', 'bob@example.org', owners)).data;
    const made = await request(api(), token, 'POST', '/organizations/acme/authentication-token');
    const others = [eve.token, token, admin(), String(documentOf(made).data.attributes['token'])];
    for (const other of others) assert.deepEqual(statusAndText(await accept(api(), other, id)), NOT_FOUND);
    assert.deepEqual(statusAndText(await request(api(), eve.token, 'GET', `${OWN}/${id}`)), NOT_FOUND);
    assert.deepEqual(statusAndText(await request(api(), eve.token, 'DELETE', `${OWN}/${id}`)), NOT_FOUND);
    assert.equal((await accept(api(), eve.token, 'ou-0000000000000000')).status, 404);
    assert.equal((await request(api(), null, 'POST', `${OWN}/${id}/actions/accept`)).status, 401);
  });

  test('ends when the person declines it [AUTHZ-98]', async () => {
    const dan = await makeUser(api(), 'dan');
    const { data } = documentOf(await invite(api(), token, 'acme', 'dan@example.org', owners));
    const path = `${OWN}/${data.id}`;
    const stale = await request(api(), dan.token, 'DELETE', path, { headers: { 'if-match': '"never"' } });
    assert.equal(stale.status, 412);
    const transfer = await request(api(), dan.token, 'DELETE', `${path}?transfer-to=eve`);
    assert.equal(transfer.status, 403);
    assert.equal((await request(api(), dan.token, 'DELETE', path)).status, 204);
    assert.deepEqual(await own(api(), dan.token), []);
    assert.equal(api().state.snapshot.get(users, userOf(data)), undefined);
    assert.equal((await entriesOf(api(), data.id)).at(-1)?.action, 'decline');
    assert.equal((await accept(api(), dan.token, data.id)).status, 404);
    // The address can be invited again.
    assert.equal((await invite(api(), token, 'acme', 'dan@example.org')).status, 201);
  });

  test('does not make the person an owner, by whichever request adds them to owners [AUTHZ-97]', async () => {
    const sole = await makeOwned(api(), 'sole');
    const fay = await makeUser(api(), 'fay');
    const { data } = documentOf(await invite(api(), sole.token, 'sole', 'fay@example.org', sole.owners));
    const relationships = `/teams/${sole.owners}/relationships`;
    for (const [type, id] of [
      ['users', userOf(data)],
      ['organization-memberships', data.id],
    ]) {
      const body = { data: [{ type, id }] };
      const change = async (method: string) =>
        (await request(api(), sole.token, method, `${relationships}/${type}`, { body })).status;
      assert.deepEqual([await change('DELETE'), await change('POST')], [204, 204]);
      assert.deepEqual(statusAndText(await request(api(), fay.token, 'GET', '/organizations/sole')), NOT_FOUND);
    }
    const [mine] = await own(api(), sole.token);
    const leave = (query = '') => request(api(), sole.token, 'DELETE', `${OWN}/${mine?.id}${query}`);
    for (const query of ['', `?transfer-to=${userOf(data)}`, '?transfer-to=fay', '?transfer-to=user-0000000000000000'])
      assert.ok([403, 422].includes((await leave(query)).status), query);
    const count = async () => {
      const answer = await request(api(), admin(), 'GET', '/admin/organizations/sole');
      return documentOf(answer).data.attributes['owners-count'];
    };
    assert.equal(await count(), 1);

    // An invitation can also be declined in an organization without an owner.
    assert.equal((await leave('?leave-to-site-administrators')).status, 204);
    assert.equal(await count(), 0);
    const [invitation] = await own(api(), fay.token);
    assert.deepEqual([invitation?.id, invitation?.attributes['is-owner']], [data.id, true]);
    assert.equal((await request(api(), fay.token, 'DELETE', `${OWN}/${data.id}`)).status, 204);
  });

  test('does not keep a suspended last owner from being the last owner [AUTHZ-64] [AUTHZ-97]', async () => {
    const held = await makeOwned(api(), 'held');
    const made = await request(api(), held.token, 'POST', '/organizations/held/authentication-token');
    const organizationToken = String(documentOf(made).data.attributes['token']);
    const { data } = documentOf(await invite(api(), held.token, 'held', 'later@example.org', held.owners));
    const [mine] = await own(api(), held.token);
    const { id } = documentOf(await request(api(), held.token, 'GET', '/account/details')).data;
    await request(api(), admin(), 'POST', `/admin/users/${id}/actions/suspend`);
    assert.equal((await request(api(), organizationToken, 'DELETE', `${OWN}/${mine?.id}`)).status, 403);
    assert.equal((await request(api(), organizationToken, 'DELETE', `${OWN}/${data.id}`)).status, 204);
  });

  test("is listed with the caller's own memberships [AUTHZ-99]", async () => {
    const gus = await makeUser(api(), 'gus');
    await makeOrganization(api(), gus.token, 'gus-own');
    const { data } = documentOf(await invite(api(), token, 'acme', 'gus@example.org'));
    const listed = (await own(api(), gus.token)).map(({ id, attributes, relationships }) => [
      relationships['organization']?.data,
      attributes['status'],
      attributes['is-owner'],
      id === data.id,
    ]);
    assert.deepEqual(listed, [
      [{ id: 'gus-own', type: 'organizations' }, 'active', true, false],
      [{ id: 'acme', type: 'organizations' }, 'invited', false, true],
    ]);
    assert.equal((await own(api(), gus.token, '?filter[status]=invited')).length, 1);
    assert.equal((await own(api(), gus.token, '?filter[status]=active')).length, 1);
    assert.equal((await own(api(), gus.token, '?filter[status]=other')).length, 0);
    assert.equal((await own(api(), gus.token, '?page[size]=1&page[number]=2'))[0]?.id, data.id);
    // The list of all users shows the person once, with or without an account.
    await invite(api(), token, 'acme', 'no-account@example.org');
    const all = async (q: string) =>
      documentOf<ResourceObject[]>(await request(api(), admin(), 'GET', `/admin/users?q=${q}`)).data;
    assert.deepEqual(
      (await all('gus@example.org')).map(({ id }) => id),
      [gus.id],
    );
    assert.equal((await all('no-account@example.org')).length, 1);
  });

  test('is accepted although the organization refuses the tokens of users [AUTHZ-93] [AUTHZ-96]', async () => {
    const closed = await makeOwned(api(), 'closed');
    await request(api(), closed.token, 'POST', '/organizations/closed/authentication-token');
    const hal = await makeUser(api(), 'hal');
    const { data } = documentOf(await invite(api(), closed.token, 'closed', 'hal@example.org'));
    const body = resource('organizations', { 'user-tokens-enabled': false });
    await request(api(), closed.token, 'PATCH', '/organizations/closed', { body });
    assert.equal((await accept(api(), hal.token, data.id)).status, 200);
    assert.equal((await request(api(), hal.token, 'GET', '/organizations/closed')).status, 403);
  });

  test('has at most 50 teams, so that accepting it is one commit [AUTHZ-95]', async () => {
    const teams: string[] = [];
    const organization = { organization: toOne('organizations', 'acme') };
    const add = (i: number) => ({ op: 'add', ...resource('teams', { name: `crowd-${i}` }, organization) });
    const made = await sendOperations(
      api(),
      token,
      Array.from({ length: INVITATION_TEAMS_MAX + 1 }, (_, i) => add(i)),
    );
    teams.push(...resultsOf(made).map(({ data }) => data?.id ?? ''));
    const tooMany = await invite(api(), token, 'acme', 'ivy@example.org', ...teams);
    assert.equal(tooMany.status, 422);
    assert.deepEqual(errorsOf(tooMany)[0]?.['source'], { pointer: '/data/relationships/teams' });
    const { data } = documentOf(await invite(api(), token, 'acme', 'ivy@example.org', ...teams.slice(1)));
    const body = { data: [{ type: 'organization-memberships', id: data.id }] };
    const join = () =>
      request(api(), token, 'POST', `/teams/${teams[0]}/relationships/organization-memberships`, { body });
    assert.match((await join()).text, /limit of 50 teams/);
    const ivy = await makeUser(api(), 'ivy');
    assert.equal((await accept(api(), ivy.token, data.id)).status, 200);
    assert.equal((await join()).status, 204);
  });

  test('ends when the person joins without it, as a site administrator does by taking over [AUTHZ-100]', async () => {
    const taken = await makeOwned(api(), 'taken');
    const body = resource('users', { username: 'ops', email: 'ops@example.org', 'is-site-admin': true });
    const made = documentOf(await request(api(), admin(), 'POST', '/admin/users', { body })).data;
    const ops = String(made.attributes['token']);
    const { data } = documentOf(await invite(api(), taken.token, 'taken', 'ops@example.org'));
    const path = '/admin/organizations/taken/actions/take-ownership';
    assert.equal((await request(api(), ops, 'POST', path)).status, 200);
    assert.equal((await request(api(), taken.token, 'GET', `${OWN}/${data.id}`)).status, 404);
    assert.equal((await accept(api(), ops, data.id)).status, 404);
    assert.equal((await entriesOf(api(), data.id)).at(-1)?.action, 'destroy');
    const [mine, ...rest] = await own(api(), ops);
    assert.deepEqual([mine?.attributes['is-owner'], rest], [true, []]);
  });

  test('is not passed over when a site administrator names a new owner [AUTHZ-100]', async () => {
    const left = await makeOwned(api(), 'left');
    const joe = await makeUser(api(), 'joe');
    const { id } = documentOf(await request(api(), left.token, 'GET', '/account/details')).data;
    const remove = (to: string) => request(api(), admin(), 'DELETE', `/admin/users/${id}?transfer-to=${to}`);
    const refused = await remove('joe');
    assert.equal(refused.status, 422);
    assert.match(String(errorsOf(refused)[0]?.['detail']), /member of the organization 'left'/);
    assert.deepEqual(errorsOf(refused)[0]?.['source'], { parameter: 'transfer-to' });
    const { data } = documentOf(await invite(api(), left.token, 'left', 'joe@example.org'));
    assert.equal((await remove('joe')).status, 422);
    await accept(api(), joe.token, data.id);
    assert.equal((await remove('joe')).status, 204);
    assert.equal((await own(api(), joe.token))[0]?.attributes['is-owner'], true);

    const mine = await makeOwned(api(), 'mine');
    const { id: ownerId } = documentOf(await request(api(), mine.token, 'GET', '/account/details')).data;
    const me = documentOf(await request(api(), admin(), 'GET', '/account/details')).data.id;
    const path = `/admin/users/${ownerId}?transfer-to=${me}`;
    assert.equal((await request(api(), admin(), 'DELETE', path)).status, 204);
  });

  test('outlasts the account and goes with the organization [AUTHZ-65] [AUTHZ-95]', async () => {
    const brief = await makeOwned(api(), 'brief');
    const kim = await makeUser(api(), 'kim');
    const { data } = documentOf(await invite(api(), brief.token, 'brief', 'kim@example.org'));
    const read = () => request(api(), brief.token, 'GET', `${OWN}/${data.id}?include=user`);
    const shown = (await read()).text;
    await request(api(), admin(), 'DELETE', `/admin/users/${kim.id}`);
    assert.equal((await read()).text, shown);
    const stop = api().state.addJob(unclaimedUsersJob(api().state, clock, 'accept'));
    await request(api(), brief.token, 'DELETE', '/organizations/brief');
    await until('the pending user is deleted', () => {
      clock.advance(INVITED_INTERVAL_MS);
      return api().state.snapshot.get(users, userOf(data)) === undefined;
    });
    stop();
  });

  test('counts toward the 500 invitations of the organization, with an account too [AUTHZ-61]', async () => {
    const full = await makeOwned(api(), 'full');
    await makeUser(api(), 'leo');
    const organization = { organization: toOne('organizations', 'full') };
    const addresses = ['leo', ...Array.from({ length: INVITED_MAX - 1 }, (_, i) => `full-${i}`)];
    const add = (name: string) => ({
      op: 'add',
      ...resource('organization-memberships', { email: `${name}@example.org` }, organization),
    });
    assert.equal((await sendOperations(api(), full.token, addresses.map(add))).status, 200);
    await makeUser(api(), 'mia');
    for (const name of ['mia', 'nobody'])
      assert.match((await invite(api(), full.token, 'full', `${name}@example.org`)).text, /limit of 500 invited/);
  });
});

describe('a change of team-access.invitations', () => {
  test('keeps invitations, and leaves unclaimed users to accept [AUTHZ-101] [AUTHZ-97]', async () => {
    await using directory = await temporaryDirectory();
    const start = async (invitations: 'automatic' | 'accept') => {
      const clock = createFakeClock();
      const engine = sqliteEngine({ directory: directory.path });
      return { clock, api: await startApi({ engine, invitations, clock }) };
    };
    let token = '';
    let admin = '';
    const ids: Record<string, string> = {};
    const make = async (api: Api, username: string): Promise<string> => {
      const body = resource('users', { username, email: `${username}@example.org` });
      const answer = await request(api, admin, 'POST', '/admin/users', { body });
      return String(documentOf(answer).data.attributes['token']);
    };
    {
      const { api } = await start('automatic');
      await using _ = api;
      admin = api.adminToken;
      token = await make(api, 'owner');
      for (const name of ['one', 'two']) {
        await makeOrganization(api, token, name);
        const owners = await ownersTeam(api, token, name);
        for (const invited of ['una', 'via'])
          ids[`${invited}-${name}`] = documentOf(
            await invite(api, token, name, `${invited}@example.org`, owners),
          ).data.id;
      }
      await api.usesWritten();
    }
    const tokens: Record<string, string> = {};
    {
      const { api, clock } = await start('accept');
      await using _ = api;
      // Before the background job has seen the unclaimed user.
      tokens['una'] = await make(api, 'una');
      assert.deepEqual(statusAndText(await request(api, tokens['una'], 'GET', '/organizations/one')), NOT_FOUND);
      const stop = api.state.addJob(unclaimedUsersJob(api.state, clock, 'accept'));
      await until('the unclaimed users are pending users', () => {
        clock.advance(INVITED_INTERVAL_MS);
        return api.state.snapshot.find(users, 'email', 'via@example.org') === undefined;
      });
      stop();
      tokens['via'] = await make(api, 'via');
      for (const invited of ['una', 'via']) {
        const pending = await own(api, tokens[invited] ?? '');
        assert.deepEqual(
          pending.map(({ id, attributes }) => [id, attributes['status'], attributes['is-owner']]),
          ['one', 'two'].map((name) => [ids[`${invited}-${name}`], 'invited', true]),
        );
        assert.equal((await invite(api, token, 'one', `${invited}@example.org`)).status, 422);
      }
      assert.equal((await accept(api, tokens['via'] ?? '', ids['via-one'] ?? '')).status, 200);
      assert.equal((await request(api, tokens['via'] ?? '', 'GET', '/organizations/one')).status, 200);
      await makeOrganization(api, token, 'three');
      ids['via-three'] = documentOf(await invite(api, token, 'three', 'via@example.org')).data.id;
      await api.usesWritten();
    }
    {
      const { api } = await start('automatic');
      await using _ = api;
      // A person with an account joins at once, but pending invitations still need acceptance.
      await makeOrganization(api, token, 'four');
      await invite(api, token, 'four', 'una@example.org');
      assert.equal((await request(api, tokens['una'] ?? '', 'GET', '/organizations/four')).status, 200);
      for (const [name, id] of Object.entries(ids)) {
        const [user = '', organization = ''] = name.split('-');
        const seen = await request(api, tokens[user] ?? '', 'GET', `/organizations/${organization}`);
        assert.equal(seen.status, name === 'via-one' ? 200 : 404, name);
        assert.equal((await accept(api, tokens[user] ?? '', id)).status, 200, name);
      }
      const left = api.state.snapshot.all(memberships).filter(({ row }) => row.invited === true);
      assert.deepEqual(left, []);
      assert.ok(api.state.snapshot.all(users).every(({ row }) => row.invitation === undefined));
    }
  });

  test('keeps the invitations of unclaimed users that a server of an older version adds later [AUTHZ-101]', async () => {
    await using api = await startApi({ invitations: 'accept' });
    const { adminToken } = api;
    const body = resource('users', { username: 'ray', email: 'ray@example.org' });
    const make = () => request(api, adminToken, 'POST', '/admin/users', { body });
    for (const [i, name] of ['one', 'two'].entries()) {
      const { attributes } = await makeOrganization(api, adminToken, name);
      const organizationId = String(attributes['external-id']);
      await api.state.write((tx) => {
        const [userId, createTime] = [newId('user'), new Date(tx.now).toISOString()];
        const user = { id: userId, username: `ray-${i}`, email: 'ray@example.org', siteAdmin: false, createTime };
        tx.put(users, { ...user, unclaimed: true });
        tx.put(memberships, { id: newId('ou'), organizationId, userId, createTime, place: 0, invited: true });
      });
      const { data } = documentOf(await make());
      if (i === 0) await request(api, adminToken, 'DELETE', `/admin/users/${data.id}`);
      else assert.equal((await own(api, String(data.attributes['token']))).length, 2);
      assert.equal((await invite(api, adminToken, name, 'ray@example.org')).status, 422);
    }
  });

  test('adds the teams to a membership that a server of an older version created [AUTHZ-96]', async () => {
    await using api = await startApi({ invitations: 'accept' });
    const { token, owners } = await makeOwned(api, 'acme');
    const kim = await makeUser(api, 'kim');
    const dev = (await makeTeam(api, token, 'acme', { name: 'dev' })).id;
    const { data } = documentOf(await invite(api, token, 'acme', 'kim@example.org', dev, owners));
    const [organizationId, membershipId] = [
      api.state.snapshot.get(memberships, data.id)?.row.organizationId,
      newId('ou'),
    ];
    await api.state.write((tx) => {
      const createTime = new Date(tx.now).toISOString();
      tx.put(memberships, {
        id: membershipId,
        organizationId: organizationId ?? '',
        userId: kim.id,
        createTime,
        place: 0,
      });
      tx.put(teamMembers, { teamId: dev, userId: kim.id, membershipId });
    });
    const answer = await accept(api, kim.token, data.id);
    assert.equal(answer.status, 200, answer.text);
    const joined = documentOf(answer).data;
    assert.equal(joined.id, membershipId);
    const linked = (joined.relationships['teams']?.data ?? []) as readonly { readonly id: string }[];
    assert.deepEqual(linked.map(({ id }) => id).toSorted(), [dev, owners].toSorted());
    assert.deepEqual(
      (await own(api, kim.token)).map(({ id }) => id),
      [membershipId],
    );
    assert.equal(api.state.snapshot.get(users, userOf(data)), undefined);
    assert.equal(api.state.snapshot.list(teamMembers, 'team', dev).length, 1);
    assert.deepEqual(statusAndText(await accept(api, kim.token, data.id)), NOT_FOUND);
  });

  test('turns an unclaimed user whose ID is the username of another one into a pending user [AUTHZ-101]', async () => {
    await using api = await startApi({ invitations: 'accept' });
    const { attributes } = await makeOrganization(api, api.adminToken, 'acme');
    const organizationId = String(attributes['external-id']);
    const userId = newId('user');
    const unclaimed = (id: string, username: string, email: string) =>
      api.state.write((tx) => {
        const createTime = new Date(tx.now).toISOString();
        tx.put(users, { id, username, email, siteAdmin: false, createTime, unclaimed: true });
        tx.put(memberships, { id: newId('ou'), organizationId, userId: id, createTime, place: 0, invited: true });
      });
    await unclaimed(userId, 'ray', 'ray@example.org');
    await unclaimed(newId('user'), userId, `${userId}@example.org`);
    const body = resource('users', { username: 'ray', email: 'ray@example.org' });
    const answer = await request(api, api.adminToken, 'POST', '/admin/users', { body });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(documentOf(answer).data.attributes['username'], 'ray');
    assert.equal((await own(api, String(documentOf(answer).data.attributes['token']))).length, 1);
  });

  test('reuses the pending user of an address without an account [AUTHZ-101]', async () => {
    await using directory = await temporaryDirectory();
    const start = (invitations: 'automatic' | 'accept') =>
      startApi({ engine: sqliteEngine({ directory: directory.path }), invitations });
    let admin = '';
    let body: unknown;
    const list = async (api: Api) => {
      const answer = await request(api, admin, 'GET', `${membersPath('two')}?include=user`);
      return answer
        .json<JsonApiDocument<ResourceObject[]>>()
        .data.filter(({ attributes }) => attributes['status'] === 'invited');
    };
    {
      await using api = await start('automatic');
      admin = api.adminToken;
      for (const name of ['one', 'two']) await makeOrganization(api, admin, name);
      await invite(api, admin, 'one', 'pat@example.org');
      await api.usesWritten();
    }
    {
      await using api = await start('accept');
      body = resource('users', { username: 'pat', email: 'pat@example.org' });
      const { data } = documentOf(await request(api, admin, 'POST', '/admin/users', { body }));
      await request(api, admin, 'DELETE', `/admin/users/${data.id}`);
    }
    await using api = await start('automatic');
    assert.equal((await invite(api, admin, 'two', 'pat@example.org')).status, 201);
    const { data } = documentOf(await request(api, admin, 'POST', '/admin/users', { body }));
    const pat = String(data.attributes['token']);
    assert.equal((await own(api, pat, '?filter[status]=invited')).length, 2);
    assert.equal((await list(api)).length, 1);
    await addToTeam(api, admin, await ownersTeam(api, admin, 'two'), userOf((await list(api))[0] ?? assert.fail()));
    assert.deepEqual(statusAndText(await request(api, pat, 'GET', '/organizations/two')), NOT_FOUND);
  });
});
