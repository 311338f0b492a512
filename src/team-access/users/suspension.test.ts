/** How users are stopped: suspension, deletion with a new owner, and the revocation of what they created. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { addToTeam, join, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
} from '../../../test/support/team-access/team-access.ts';

describe('a user whom a site administrator stops', () => {
  const api = sharedApi({ clock: createFakeClock() });
  let made = 0;
  const admin = (method: string, path: string) => request(api(), api().adminToken, method, path);
  const ownersOf = async (organization: string) =>
    documentOf(await admin('GET', `/admin/organizations/${organization}`)).data.attributes['owners-count'];
  /** Creates a user who is the only owner of an organization. */
  const makeLastOwner = async () => {
    made += 1;
    const organization = `org-${made}`;
    const user = await makeUser(api(), `owner-${made}`);
    await makeOrganization(api(), user.token, organization);
    return { ...user, organization };
  };
  const asks = async (token: string, path = '/account/details') => (await request(api(), token, 'GET', path)).status;

  test('is refused with every token until the suspension ends, and keeps memberships [AUTHZ-87]', async () => {
    const { id, token, organization } = await makeLastOwner();
    const second = resource('authentication-tokens', { description: 'second' });
    const another = documentOf(
      await request(api(), token, 'POST', `/users/${id}/authentication-tokens`, { body: second }),
    ).data.attributes['token'];
    const suspended = documentOf(await admin('POST', `/admin/users/${id}/actions/suspend`)).data;
    assert.equal(suspended.attributes['is-suspended'], true);
    const path = `/organizations/${organization}`;
    assert.deepEqual([await asks(token), await asks(String(another)), await asks(token, path)], [401, 401, 401]);
    const write = { body: resource('organizations', { email: 'x@example.org' }) };
    assert.equal((await request(api(), token, 'PATCH', path, write)).status, 401);
    assert.equal(await ownersOf(organization), 1);
    const { snapshot } = api().state;
    assert.equal((await admin('POST', `/admin/users/${id}/actions/suspend`)).status, 200);
    assert.equal(api().state.snapshot, snapshot, 'a second suspension commits nothing');
    const active = documentOf(await admin('POST', `/admin/users/${id}/actions/unsuspend`)).data;
    assert.equal(active.attributes['is-suspended'], false);
    assert.deepEqual([await asks(token), await asks(token, path)], [200, 200]);
    const audit = await request(api(), api().adminToken, 'GET', '/admin/users?q=owner-1');
    assert.equal(documentOf<ResourceObject[]>(audit).data[0]?.attributes['is-suspended'], false);
  });

  test('is suspended as a site administrator only if another one remains [AUTHZ-70] [AUTHZ-87]', async () => {
    const me = documentOf(await admin('GET', '/account/details')).data.id;
    const body = resource('users', { username: 'second', email: 's@example.org', 'is-site-admin': true });
    const answer = await request(api(), api().adminToken, 'POST', '/admin/users', { body });
    const second = documentOf(answer).data;
    assert.equal((await admin('POST', `/admin/users/${second.id}/actions/suspend`)).status, 200);
    for (const attempt of [
      await admin('POST', `/admin/users/${me}/actions/suspend`),
      await admin('DELETE', `/admin/users/${me}`),
    ]) {
      assert.equal(attempt.status, 403);
      assert.match(String(errorsOf(attempt)[0]?.['detail']), /^the last site administrator cannot be/);
    }
  });

  test('does not count as an owner who remains while suspended [AUTHZ-64]', async () => {
    const { id, token, organization } = await makeLastOwner();
    const other = await makeUser(api(), 'co-owner');
    await join(api(), token, organization, 'co-owner');
    const path = `/organizations/${organization}/teams?filter[names]=owners`;
    const owners = documentOf<ResourceObject[]>(await request(api(), token, 'GET', path)).data[0]?.id ?? '';
    await addToTeam(api(), token, owners, 'co-owner');
    assert.equal((await admin('POST', `/admin/users/${other.id}/actions/suspend`)).status, 200);
    assert.equal((await admin('DELETE', `/admin/users/${id}`)).status, 403);
  });

  test('is deleted as the last owner with a new owner, who joins in the same commit [AUTHZ-64] [AUTHZ-69]', async () => {
    const first = await makeLastOwner();
    await makeOrganization(api(), first.token, 'org-too');
    const refused = await admin('DELETE', `/admin/users/${first.id}`);
    assert.equal(refused.status, 403);
    const detail = String(errorsOf(refused)[0]?.['detail']);
    assert.match(detail, /^the user is the last owner of the organizations 'org-\d+', 'org-too': name a new owner/);
    const heir = await makeUser(api(), 'heir');
    const body = resource('organization-memberships', { email: 'ghost@example.org' });
    const invited = `/organizations/${first.organization}/organization-memberships`;
    assert.equal((await request(api(), first.token, 'POST', invited, { body })).status, 201);
    for (const unsuitable of ['nobody', 'ghost', 'co-owner', first.username, first.id]) {
      const answer = await admin('DELETE', `/admin/users/${first.id}?transfer-to=${unsuitable}`);
      assert.equal(answer.status, 422, unsuitable);
      assert.deepEqual(errorsOf(answer)[0]?.['source'], { parameter: 'transfer-to' });
    }
    assert.equal((await admin('DELETE', `/admin/users/${first.id}?transfer-to=HEIR`)).status, 204);
    for (const name of [first.organization, 'org-too']) {
      const { attributes } = documentOf(await request(api(), heir.token, 'GET', `/organizations/${name}`)).data;
      assert.equal((attributes['permissions'] as Record<string, boolean>)['can-destroy'], true);
      assert.equal(await ownersOf(name), 1);
    }
  });

  describe('with tokens of a team and an organization', () => {
    let maker = { id: '', token: '', organization: '' };
    let tokens: string[] = [];
    const list = (id: string) => `/admin/users/${id}/authentication-tokens`;
    before(async () => {
      maker = await makeLastOwner();
      const { id } = await makeTeam(api(), maker.token, maker.organization, { name: 'ci' });
      const create = async (path: string) =>
        String(documentOf(await request(api(), maker.token, 'POST', path)).data.attributes['token']);
      tokens = [
        await create(`/organizations/${maker.organization}/authentication-token`),
        await create(`/teams/${id}/authentication-token`),
      ];
    });

    test('has them listed with team and organization, without their secrets [AUTHZ-88]', async () => {
      const answer = await admin('GET', list(maker.id));
      const { data } = documentOf<ResourceObject[]>(answer);
      assert.deepEqual(
        data.map(({ relationships }) => [relationships['organization']?.data, 'team' in relationships]),
        [false, true].map((ofTeam) => [{ id: maker.organization, type: 'organizations' }, ofTeam]),
      );
      assert.ok(tokens.every((token) => !answer.text.includes(token)));
      assert.equal((await admin('GET', list('user-0000000000000000'))).status, 404);
    });

    test('loses them one by one or all at once, also after the deletion [AUTHZ-88]', async () => {
      assert.equal((await admin('DELETE', `/admin/users/${maker.id}?transfer-to=heir`)).status, 204);
      const { data } = documentOf<ResourceObject[]>(await admin('GET', list(maker.id)));
      assert.deepEqual([data.length, await asks(tokens[0] ?? ''), await asks(tokens[1] ?? '')], [2, 200, 200]);
      assert.equal((await admin('DELETE', `${list(maker.id)}/${data[0]?.id}`)).status, 204);
      assert.equal((await admin('DELETE', `${list(maker.id)}/${data[0]?.id}`)).status, 404);
      assert.deepEqual([await asks(tokens[0] ?? ''), await asks(tokens[1] ?? '')], [401, 200]);
      assert.equal((await admin('DELETE', list(maker.id))).status, 204);
      assert.deepEqual([await asks(tokens[0] ?? ''), await asks(tokens[1] ?? '')], [401, 401]);
    });

    test('loses them with revoke-created in the commit of the deletion [AUTHZ-88]', async () => {
      const { id, token, organization } = await makeLastOwner();
      const path = `/organizations/${organization}/authentication-token`;
      const made = documentOf(await request(api(), token, 'POST', path)).data.attributes['token'];
      assert.equal((await admin('DELETE', `/admin/users/${id}?transfer-to=heir&revoke-created=1`)).status, 400);
      assert.equal((await admin('DELETE', `/admin/users/${id}?transfer-to=heir&revoke-created=true`)).status, 204);
      assert.equal(await asks(String(made)), 401);
    });
  });
});
