import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
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
import { auditLog } from '../../audit/record.ts';

const detailOf = (answer: Parameters<typeof errorsOf>[0]) => errorsOf(answer)[0]?.['detail'];
const OWNERS = (organization: string) => `/organizations/${organization}/teams?filter[names]=owners`;

describe('a user', () => {
  const api = sharedApi();
  const admin = (method: string, path: string, options = {}) => request(api(), api().adminToken, method, path, options);
  const remove = (id: string, options = {}) => admin('DELETE', `/admin/users/${id}`, options);
  const ownersOf = async (organization: string): Promise<string> =>
    documentOf<ResourceObject[]>(await admin('GET', OWNERS(organization))).data[0]?.id ?? '';
  before(() => makeOrganization(api(), api().adminToken, 'acme'));

  test('loses organization memberships, team memberships, and tokens when deleted [AUTHZ-69]', async () => {
    const team = await makeTeam(api(), api().adminToken, 'acme', { name: 'left' });
    const { id, token, username } = await makeUser(api(), 'leaver');
    const membership = await join(api(), api().adminToken, 'acme', username);
    await addToTeam(api(), api().adminToken, team.id, username);
    assert.equal((await remove(id)).status, 204);
    assert.equal((await request(api(), token, 'GET', '/account/details')).status, 401);
    assert.deepEqual(statusAndText(await admin('GET', `/organization-memberships/${membership}`)), NOT_FOUND);
    assert.equal(documentOf(await admin('GET', `/teams/${team.id}`)).data.attributes['users-count'], 0);
    assert.deepEqual(statusAndText(await remove(id)), NOT_FOUND);
    const [entry] = await api().state.scan(auditLog, { limit: 1, reverse: true }, new AbortController().signal);
    assert.deepEqual([entry?.row.action, entry?.row.type, entry?.row.subject], ['destroy', 'users', id]);
    assert.match(JSON.stringify(entry?.row.before), /"leaver@example\.org"/);
  });

  test('can be created again with the same username after a deletion', async () => {
    const lost = await makeUser(api(), 'lost');
    await remove(lost.id);
    const again = await makeUser(api(), 'lost');
    assert.notEqual(again.id, lost.id);
    assert.equal((await request(api(), again.token, 'GET', '/account/details')).status, 200);
  });

  test('cannot be deleted while they are the last claimed owner of an organization [AUTHZ-64]', async () => {
    const { id, token } = await makeUser(api(), 'sole');
    await makeOrganization(api(), token, 'solo');
    const owners = documentOf<ResourceObject[]>(await request(api(), token, 'GET', OWNERS('solo'))).data[0]?.id ?? '';
    const body = resource(
      'organization-memberships',
      { email: 'ghost@example.org' },
      { teams: { data: [{ type: 'teams', id: owners }] } },
    );
    const path = '/organizations/solo/organization-memberships';
    assert.equal((await request(api(), token, 'POST', path, { body })).status, 201);
    const refused = await remove(id);
    assert.deepEqual(
      [refused.status, detailOf(refused)],
      [
        403,
        "the user is the last owner of the organization 'solo': name a new owner with transfer-to, " +
          'take the organizations over or delete them, or suspend the user',
      ],
    );
    await makeUser(api(), 'heir');
    await join(api(), token, 'solo', 'heir');
    await addToTeam(api(), token, owners, 'heir');
    assert.equal((await remove(id)).status, 204);
  });

  test('cannot be deleted while they are the last site administrator [AUTHZ-15] [AUTHZ-70]', async () => {
    await using own = await startApi();
    const me = documentOf(await request(own, own.adminToken, 'GET', '/account/details')).data.id;
    const removeMe = () => request(own, own.adminToken, 'DELETE', `/admin/users/${me}`);
    const refused = await removeMe();
    assert.deepEqual([refused.status, detailOf(refused)], [403, 'the last site administrator cannot be deleted']);
    const body = resource('users', { username: 'second', email: 's@example.org', 'is-site-admin': true });
    documentOf(await request(own, own.adminToken, 'POST', '/admin/users', { body }));
    assert.equal((await removeMe()).status, 204);
    assert.equal((await removeMe()).status, 401);
  });

  test('is deleted only if If-Match matches the current ETag [DOC-18]', async () => {
    const { id } = await makeUser(api(), 'watched');
    const tag = (await admin('GET', `/users/${id}`)).headers['etag'];
    assert.equal((await remove(id, { headers: { 'if-match': '"else"' } })).status, 412);
    assert.equal((await remove(id, { headers: { 'if-match': tag } })).status, 204);
  });

  test('can be read by that user, by site administrators, and by members of a common organization [AUTHZ-71]', async () => {
    const read = await makeUser(api(), 'read');
    const fellow = await makeUser(api(), 'fellow');
    const stranger = await makeUser(api(), 'stranger');
    for (const name of ['read', 'fellow']) await join(api(), api().adminToken, 'acme', name);
    await makeOrganization(api(), stranger.token, 'elsewhere');
    const tokenAt = async (by: string, path: string): Promise<string> =>
      String(documentOf(await request(api(), by, 'POST', path)).data.attributes['token']);
    const path = `/users/${read.id}`;
    const allowed = [
      ...[read.token, fellow.token, api().adminToken],
      await tokenAt(api().adminToken, '/organizations/acme/authentication-token'),
      await tokenAt(api().adminToken, `/teams/${await ownersOf('acme')}/authentication-token`),
    ];
    for (const token of allowed) {
      const { data } = documentOf(await request(api(), token, 'GET', path));
      assert.deepEqual([data.id, data.attributes['username']], [read.id, 'read']);
    }
    const other = await tokenAt(stranger.token, '/organizations/elsewhere/authentication-token');
    for (const token of [stranger.token, other]) {
      assert.deepEqual(statusAndText(await request(api(), token, 'GET', path)), NOT_FOUND);
    }
    assert.deepEqual(statusAndText(await admin('GET', '/users/user-0000000000000000')), NOT_FOUND);
  });

  test('gets another username while unclaimed if a site administrator assigns theirs [AUTHZ-68]', async () => {
    const invite = (email: string) =>
      admin('POST', '/organizations/acme/organization-memberships', {
        body: resource('organization-memberships', { email }),
      });
    const invited = documentOf(await invite('ceo@evil.example'));
    assert.equal(invited.included?.[0]?.attributes['username'], 'ceo');
    assert.equal((await makeUser(api(), 'ceo')).username, 'ceo');
    const after = documentOf(await admin('GET', `/users/${invited.included?.[0]?.id}`)).data.attributes;
    assert.deepEqual([after['username'], after['email']], ['ceo-2', 'ceo@evil.example']);
    await invite('cfo@evil.example');
    await invite('boss@example.org');
    const body = resource('users', { username: 'cfo', email: 'boss@example.org' });
    assert.equal(documentOf(await admin('POST', '/admin/users', { body })).data.attributes['username'], 'cfo');
  });

  test('shows who administers the server only to themself and to site administrators [AUTHZ-92]', async () => {
    const { token } = await makeUser(api(), 'curious');
    await makeOrganization(api(), token, 'curious');
    const me = documentOf(await admin('GET', '/account/details')).data;
    assert.equal(me.attributes['is-site-admin'], true);
    const body = resource('users', { username: 'chair', email: 'chair@example.org', 'is-site-admin': true });
    const boss = documentOf(await request(api(), api().adminToken, 'POST', '/admin/users', { body })).data;
    const invitation = { body: resource('organization-memberships', { email: 'chair@example.org' }) };
    const path = '/organizations/curious/organization-memberships';
    for (const answer of [
      await request(api(), token, 'POST', path, invitation),
      await request(api(), token, 'GET', `${path}?include=user`),
      await request(api(), token, 'GET', `/users/${boss.id}`),
    ]) {
      assert.ok(answer.status < 300 && answer.text.includes(boss.id), answer.text);
      assert.doesNotMatch(answer.text, /is-site-admin|is-suspended/);
    }
    assert.equal(documentOf(await admin('GET', `/users/${boss.id}`)).data.attributes['is-site-admin'], true);
  });

  test('has the attributes of the specification [DOC-54]', async () => {
    const constants = {
      'is-service-account': false,
      'two-factor': { enabled: false, verified: false },
      'unconfirmed-email': null,
      'v2-only': true,
    };
    const made = { username: 'complete', email: 'Complete@example.org' };
    const created = documentOf(await admin('POST', '/admin/users', { body: resource('users', made) })).data;
    const { token, permissions, ...attributes } = created.attributes;
    assert.match(String(token), /atlasv1/);
    const avatar = `https://www.gravatar.com/avatar/${hash('sha256', 'complete@example.org')}?s=100&d=mm`;
    assert.deepEqual(attributes, {
      ...made,
      'avatar-url': avatar,
      'is-site-admin': false,
      'is-suspended': false,
      ...constants,
    });
    const read = documentOf(await admin('GET', `/users/${created.id}`)).data;
    assert.deepEqual(read.attributes, { ...attributes, permissions });
    const first = documentOf(await admin('GET', '/account/details')).data.attributes;
    const { permissions: _, ...own } = first;
    const none = { email: null, 'avatar-url': null };
    assert.deepEqual(own, { username: 'admin', ...none, 'is-site-admin': true, 'is-suspended': false, ...constants });
    const tokenPath = '/organizations/acme/authentication-token';
    const robot = String(documentOf(await admin('POST', tokenPath)).data.attributes['token']);
    const account = documentOf(await request(api(), robot, 'GET', '/account/details')).data.attributes;
    assert.equal(account['is-service-account'], true);
  });

  test('has permissions only in the documents that they read about themselves [DOC-56]', async () => {
    const { id, token, username } = await makeUser(api(), 'permitted');
    const membership = await join(api(), api().adminToken, 'acme', username);
    const expected = (isSelf: boolean) => ({
      'can-create-organizations': isSelf,
      'can-change-email': false,
      'can-change-username': false,
      'can-manage-user-tokens': isSelf,
      'can-view2fa-settings': false,
      'can-manage-hcp-account': false,
    });
    for (const path of ['/account/details', `/users/${id}`]) {
      const { attributes } = documentOf(await request(api(), token, 'GET', path)).data;
      assert.deepEqual(attributes['permissions'], expected(true), path);
    }
    const { included } = documentOf(
      await request(api(), token, 'GET', `/organization-memberships/${membership}?include=user`),
    );
    assert.deepEqual(
      included?.map(({ attributes }) => attributes['permissions']),
      [expected(false)],
    );
    const byOther = documentOf(await admin('GET', `/users/${id}`)).data;
    assert.deepEqual(byOther.attributes['permissions'], expected(false));
  });

  test('has an email address without invisible and reserved characters [DOC-11]', async () => {
    for (const email of ['\u202ea@example.org', 'a@b,c', 'a\u200b@example.org', 'a@b@c', 'a b@c', '<a@b>', 'a@', '@']) {
      const answer = await admin('POST', '/admin/users', { body: resource('users', { username: 'odd', email }) });
      assert.equal(detailOf(answer), 'Email is invalid: want an address such as name@example.org', email);
    }
    for (const [i, email] of ["o'hara+tag@example.org", 'jörg@bücher.example', 'a@localhost'].entries()) {
      const body = resource('users', { username: `fine-${i}`, email });
      assert.equal((await admin('POST', '/admin/users', { body })).status, 201, email);
    }
  });
});
