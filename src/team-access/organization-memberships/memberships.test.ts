import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { addToTeam, join, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';

const PATH = '/organizations/acme/organization-memberships';

describe('an organization membership', () => {
  const api = sharedApi();
  const admin = (method: string, path: string, body?: unknown) =>
    request(api(), api().adminToken, method, path, body === undefined ? {} : { body });
  const invite = (email: unknown, relationships?: Readonly<Record<string, unknown>>) =>
    admin('POST', PATH, resource('organization-memberships', { email }, relationships));
  before(() => makeOrganization(api(), api().adminToken, 'acme'));

  test('creates an invited user for an unused email address [AUTHZ-59] [AUTHZ-60] [DOC-52]', async () => {
    const answer = await invite('new.person@example.org');
    assert.equal(answer.status, 201);
    const { data, included } = documentOf(answer);
    assert.deepEqual(data.attributes, { email: 'new.person@example.org', status: 'invited' });
    assert.equal(included?.[0]?.attributes['username'], 'new-person');
    const again = await invite('NEW.person@example.org');
    assert.equal(errorsOf(again)[0]?.['detail'], 'Email has already been taken');
    const namesake = documentOf(await invite('new.person@example.com'));
    assert.equal(namesake.included?.[0]?.attributes['username'], 'new-person-2');
    for (const number of [3, 4, 5, 6]) {
      const next = documentOf(await invite(`new.person@${number}.example.org`));
      assert.equal(next.included?.[0]?.attributes['username'], `new-person-${number}`);
    }
  });

  test('is active after a token of the user was used [DOC-50]', async () => {
    const user = await makeUser(api(), 'coming');
    const id = await join(api(), api().adminToken, 'acme', 'coming');
    const status = async () =>
      documentOf(await admin('GET', `/organization-memberships/${id}`)).data.attributes['status'];
    assert.equal(await status(), 'invited');
    await request(api(), user.token, 'GET', '/account/details');
    await api().usesWritten();
    assert.equal(await status(), 'active');
  });

  test('does not show who administers the server [AUTHZ-92]', async () => {
    const attributes = { username: 'chief', email: 'chief@example.org', 'is-site-admin': true };
    await admin('POST', '/admin/users', resource('users', attributes));
    const { token } = await makeUser(api(), 'curious');
    await makeOrganization(api(), token, 'curious');
    const path = '/organizations/curious/organization-memberships';
    const body = resource('organization-memberships', { email: 'chief@example.org' });
    const answers = [await request(api(), token, 'POST', path, { body })];
    const { id, relationships } = documentOf(answers[0] ?? assert.fail()).data;
    const user = relationships['user']?.data as { readonly id: string } | undefined;
    for (const read of [`${path}?include=user`, `/organization-memberships/${id}?include=user`, `/users/${user?.id}`])
      answers.push(await request(api(), token, 'GET', read));
    for (const { status, text } of answers) {
      assert.ok(status < 300, text);
      assert.match(text, /"username":"chief"/);
      assert.doesNotMatch(text, /is-site-admin|is-suspended/);
    }
  });

  test('adds the member to the teams of the body [AUTHZ-58]', async () => {
    const team = await makeTeam(api(), api().adminToken, 'acme', { name: 'joined' });
    const { data } = documentOf(
      await invite('joining@example.org', { teams: { data: [{ type: 'teams', id: team.id }] } }),
    );
    assert.deepEqual(data.relationships['teams']?.data, [{ id: team.id, type: 'teams' }]);
    const unknown = { teams: { data: [{ type: 'teams', id: 'team-0000000000000000' }] } };
    assert.deepEqual(statusAndText(await invite('x@example.org', unknown)), NOT_FOUND);
  });

  test('omits secret teams that the caller cannot see [DOC-51]', async () => {
    const hidden = await makeTeam(api(), api().adminToken, 'acme', { name: 'hidden' });
    const viewer = await makeUser(api(), 'viewer');
    await join(api(), api().adminToken, 'acme', 'viewer');
    await makeUser(api(), 'agent');
    const id = await join(api(), api().adminToken, 'acme', 'agent');
    await addToTeam(api(), api().adminToken, hidden.id, 'agent');
    const path = `/organization-memberships/${id}?include=teams,user`;
    const read = documentOf(await request(api(), viewer.token, 'GET', path));
    assert.deepEqual(read.data.relationships['teams']?.data, []);
    assert.deepEqual(
      read.included?.map(({ type }) => type),
      ['users'],
    );
    assert.equal(documentOf(await admin('GET', path)).included?.length, 2);
  });

  test('takes the team memberships with it when it is deleted [AUTHZ-2] [AUTHZ-62] [AUTHZ-63]', async () => {
    const team = await makeTeam(api(), api().adminToken, 'acme', { name: 'left' });
    const user = await makeUser(api(), 'leaving');
    const id = await join(api(), api().adminToken, 'acme', 'leaving');
    await addToTeam(api(), api().adminToken, team.id, 'leaving');
    assert.equal((await request(api(), user.token, 'DELETE', `/organization-memberships/${id}`)).status, 204);
    assert.deepEqual(statusAndText(await request(api(), user.token, 'GET', '/organizations/acme')), NOT_FOUND);
    assert.equal(documentOf(await admin('GET', `/teams/${team.id}`)).data.attributes['users-count'], 0);
    await join(api(), api().adminToken, 'acme', 'leaving');
    assert.deepEqual(statusAndText(await request(api(), user.token, 'GET', `/teams/${team.id}`)), NOT_FOUND);
  });

  test('is rejected with an invalid email address [DOC-11]', async () => {
    for (const email of [undefined, null, '', 'x', 1]) {
      const answer = await invite(email);
      assert.deepEqual([answer.status, errorsOf(answer).length], [422, 1], String(email));
    }
  });

  test('is listed with counts and filtered by status and email address [DOC-27] [DOC-53]', async () => {
    await makeOrganization(api(), api().adminToken, 'counted');
    await makeUser(api(), 'counted-one');
    await join(api(), api().adminToken, 'counted', 'counted-one');
    await api().usesWritten();
    const list = async (query: string) =>
      documentOf<ResourceObject[]>(await admin('GET', `/organizations/counted/organization-memberships?${query}`));
    const { data, meta } = await list('filter[status]=invited&include=user');
    assert.deepEqual(
      data.map(({ attributes }) => attributes['email']),
      ['counted-one@example.org'],
    );
    assert.deepEqual((meta as Record<string, unknown> | undefined)?.['status-counts'], {
      total: 2,
      matching: 1,
      active: 1,
      invited: 1,
    });
    assert.equal((await list('filter[email]=Counted-One@example.org,x')).data.length, 1);
    assert.equal((await list('q=admin')).data.length, 1);
  });
});

describe('POST /admin/users', () => {
  const api = sharedApi();
  const make = (attributes: Readonly<Record<string, unknown>>) =>
    request(api(), api().adminToken, 'POST', '/admin/users', { body: resource('users', attributes) });

  test('creates a user with a first token [AUTHZ-1] [AUTHZ-66] [DOC-27]', async () => {
    const { data } = documentOf(await make({ username: 'ada', email: 'ada@example.org' }));
    const account = documentOf(await request(api(), String(data.attributes['token']), 'GET', '/account/details')).data;
    assert.deepEqual(
      [account.id, account.attributes['username'], account.attributes['is-site-admin']],
      [data.id, 'ada', false],
    );
    const all = documentOf<ResourceObject[]>(await request(api(), api().adminToken, 'GET', '/admin/users?q=ADA')).data;
    assert.deepEqual(
      all.map(({ id }) => id),
      [data.id],
    );
    assert.ok(!('token' in (all[0]?.attributes ?? {})));
  });

  test('claims an invited user with the same email address, but only once [AUTHZ-67]', async () => {
    const organization = 'inviting';
    await makeOrganization(api(), api().adminToken, organization);
    const body = resource('organization-memberships', { email: 'Grace@example.org' });
    const path = `/organizations/${organization}/organization-memberships`;
    const invited = documentOf(await request(api(), api().adminToken, 'POST', path, { body })).data;
    const id = (invited.relationships['user']?.data as { readonly id: string } | undefined)?.id;
    const { data } = documentOf(await make({ username: 'grace-h', email: 'grace@Example.org' }));
    assert.deepEqual([data.id, data.attributes['username']], [id, 'grace-h']);
    const token = String(data.attributes['token']);

    const status = async () => {
      await api().usesWritten();
      const membership = await request(api(), api().adminToken, 'GET', `/organization-memberships/${invited.id}`);
      return documentOf(membership).data.attributes['status'];
    };
    assert.equal(await status(), 'invited');
    assert.equal(documentOf(await request(api(), token, 'GET', '/account/details')).data.id, id);
    assert.equal(await status(), 'active');

    for (const username of ['grace-h', 'mallory']) {
      const again = await make({ username, email: 'grace@example.org' });
      assert.equal(again.status, 422);
      assert.ok(!again.text.includes('atlasv1'));
    }
  });

  test('cannot claim a user who ever had a token [AUTHZ-67]', async () => {
    await makeOrganization(api(), api().adminToken, 'leaving');
    const body = resource('organization-memberships', { email: 'leaver@example.org' });
    await request(api(), api().adminToken, 'POST', '/organizations/leaving/organization-memberships', { body });
    const { data } = documentOf(await make({ username: 'leaver', email: 'leaver@example.org' }));
    const token = String(data.attributes['token']);
    const tokens = await request(api(), token, 'GET', `/users/${data.id}/authentication-tokens`);
    const own = documentOf<ResourceObject[]>(tokens).data[0]?.id;
    assert.equal((await request(api(), token, 'DELETE', `/authentication-tokens/${own}`)).status, 204);
    assert.deepEqual(
      errorsOf(await make({ username: 'mallory', email: 'leaver@example.org' })).map(({ detail }) => detail),
      ['Email has already been taken'],
    );
  });

  test('cannot claim a user with a taken username or without a site administrator [AUTHZ-67, AUTHZ-68]', async () => {
    const { token } = await makeUser(api(), 'taken');
    await makeOrganization(api(), token, 'small');
    const body = resource('organization-memberships', { email: 'heidi@example.org' });
    await request(api(), token, 'POST', '/organizations/small/organization-memberships', { body });
    assert.deepEqual(
      errorsOf(await make({ username: 'Taken', email: 'heidi@example.org' })).map(({ detail }) => detail),
      ['Username has already been taken'],
    );
    const claim = { body: resource('users', { username: 'heidi', email: 'heidi@example.org' }) };
    assert.deepEqual(statusAndText(await request(api(), token, 'POST', '/admin/users', claim)), NOT_FOUND);
    const both = await Promise.all([1, 2].map(() => make({ username: 'heidi', email: 'heidi@example.org' })));
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 422]);
  });

  test('rejects taken and missing usernames and email addresses [AUTHZ-68] [DOC-55]', async () => {
    await make({ username: 'bob', email: 'bob@example.org' });
    const answer = await make({ username: 'BOB', email: 'Bob@example.org' });
    assert.deepEqual(
      errorsOf(answer).map(({ detail }) => detail),
      ['Username has already been taken', 'Email has already been taken'],
    );
    assert.deepEqual(
      errorsOf(await make({})).map(({ detail }) => detail),
      ["Username can't be blank", "Email can't be blank"],
    );
  });
});
