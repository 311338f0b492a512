/** Settings that have an effect, and values that the server refuses because they would have none. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { join, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
} from '../../../test/support/team-access/team-access.ts';
import { organizations } from '../tables/organization.ts';

const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  ['collaborator-auth-policy', 'two_factor_mandatory', /does not enforce two-factor authentication/],
  ['session-timeout', 60, /has no sessions/],
  ['session-remember', 60, /has no sessions/],
  ['owners-team-saml-role-id', 'admins', /has no SAML sign-in/],
  ['enforce-hyok', true, /does not hold your own keys/],
  ['max-ttl-enabled', true, /does not limit the lifetime of tokens/],
];

describe('a setting of an organization', () => {
  const api = sharedApi();
  const patch = (token: string | null, name: string, attributes: Readonly<Record<string, unknown>>) =>
    request(api(), token, 'PATCH', `/organizations/${name}`, { body: resource('organizations', attributes) });

  for (const [name, value, reason] of REFUSED) {
    test(`${name} is refused with a value that would have no effect [AUTHZ-94]`, async () => {
      const organization = `with-${name}`;
      await makeOrganization(api(), api().adminToken, organization);
      const answer = await patch(api().adminToken, organization, { [name]: value });
      assert.equal(answer.status, 422);
      const [error] = errorsOf(answer);
      assert.deepEqual(error?.['source'], { pointer: `/data/attributes/${name}` });
      assert.match(String(error?.['detail']), reason);
      await api().state.write((tx) => {
        const row = tx.find(organizations, 'name', organization)?.row ?? assert.fail();
        tx.put(organizations, { ...row, settings: { [name]: value } });
      });
      const path = `/organizations/${organization}`;
      const read = documentOf(await request(api(), api().adminToken, 'GET', path)).data;
      assert.notEqual(read.attributes[name], value, 'a value of an older version is not shown');
    });
  }

  test('of a workspace is refused if it would have to destroy something [AUTHZ-94]', async () => {
    await makeOrganization(api(), api().adminToken, 'lasting');
    for (const name of ['auto-destroy-at', 'auto-destroy-activity-duration']) {
      const body = resource('workspaces', { name: 'web', [name]: '2100-01-01T00:00:00Z' });
      const answer = await request(api(), api().adminToken, 'POST', '/organizations/lasting/workspaces', { body });
      assert.equal(answer.status, 422);
      assert.match(String(errorsOf(answer)[0]?.['detail']), /would not destroy anything: want null$/);
    }
  });

  test('user-tokens-enabled refuses the tokens of users, but not those of the organization [AUTHZ-93]', async () => {
    const owner = await makeUser(api(), 'owner');
    const member = await makeUser(api(), 'member');
    await makeOrganization(api(), owner.token, 'closed');
    const membership = await join(api(), owner.token, 'closed', 'member');
    const off = { 'user-tokens-enabled': false };
    const early = await patch(owner.token, 'closed', off);
    assert.equal(early.status, 422);
    assert.match(String(errorsOf(early)[0]?.['detail']), /no owner could change it back/);
    const made = await request(api(), owner.token, 'POST', '/organizations/closed/authentication-token');
    const token = String(documentOf(made).data.attributes['token']);
    const workspace = resource('workspaces', { name: 'web' });
    const path = '/organizations/closed/workspaces';
    const { id } = documentOf(await request(api(), token, 'POST', path, { body: workspace })).data;
    assert.equal((await patch(owner.token, 'closed', off)).status, 200);
    const get = (by: string, at: string) => request(api(), by, 'GET', at);
    for (const at of ['/organizations/closed', path, '/organizations/closed/teams']) {
      const answer = await get(owner.token, at);
      assert.equal(answer.status, 403, at);
      assert.match(String(errorsOf(answer)[0]?.['detail']), /^the organization 'closed' does not accept the tokens of/);
      assert.equal((await get(token, at)).status, 200, at);
    }
    assert.equal((await get(owner.token, `/workspaces/${id}`)).status, 404);
    assert.equal((await get(token, `/workspaces/${id}`)).status, 200);
    assert.deepEqual(documentOf<ResourceObject[]>(await get(owner.token, '/organizations')).data, []);
    const stranger = await makeUser(api(), 'stranger');
    assert.equal((await get(stranger.token, '/organizations/closed')).status, 404);
    const leave = await request(api(), member.token, 'DELETE', `/organization-memberships/${membership}`);
    assert.equal(leave.status, 204, 'a member can leave');
    const other = { 'user-tokens-enabled': true, email: 'x@example.org' };
    assert.equal((await patch(api().adminToken, 'closed', other)).status, 404);
    assert.equal((await patch(api().adminToken, 'closed', { 'user-tokens-enabled': true })).status, 200);
    assert.equal((await get(owner.token, '/organizations/closed')).status, 200);
  });
});
