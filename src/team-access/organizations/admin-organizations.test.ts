/** Organizations without a usable owner: how owners leave, and how site administrators reach every organization. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { addToTeam, join, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  type ResourceObject,
  request,
} from '../../../test/support/team-access/team-access.ts';
import { auditLog } from '../../audit/record.ts';

describe('an owner', () => {
  const api = sharedApi();
  const admin = (method: string, path: string) => request(api(), api().adminToken, method, path);
  const membershipOf = async (token: string, organization: string, q: string) => {
    const path = `/organizations/${organization}/organization-memberships?q=${q}`;
    return documentOf<ResourceObject[]>(await request(api(), token, 'GET', path)).data[0]?.id ?? '';
  };
  const isOwner = async (token: string, organization: string) => {
    const answer = await request(api(), token, 'GET', `/organizations/${organization}`);
    if (answer.status !== 200) return answer.status;
    return (documentOf(answer).data.attributes['permissions'] as Record<string, boolean>)['can-destroy'];
  };

  test('leaves as the last one by naming a member, who becomes an owner in the same commit [AUTHZ-89]', async () => {
    const last = await makeUser(api(), 'last');
    const member = await makeUser(api(), 'member');
    const stranger = await makeUser(api(), 'stranger');
    await makeOrganization(api(), last.token, 'handed');
    await join(api(), last.token, 'handed', 'member');
    const path = `/organization-memberships/${await membershipOf(last.token, 'handed', 'last')}`;
    const end = (query: string, token = last.token) => request(api(), token, 'DELETE', `${path}${query}`);
    assert.equal((await end('')).status, 403);
    assert.equal((await end('?transfer-to=stranger')).status, 422);
    assert.equal((await end('?transfer-to=last')).status, 422);
    assert.equal((await end('?transfer-to=member', member.token)).status, 404);
    assert.equal((await end('?transfer-to=member')).status, 204);
    assert.deepEqual([await isOwner(member.token, 'handed'), await isOwner(last.token, 'handed')], [true, 404]);
    assert.equal(await isOwner(stranger.token, 'handed'), 404);
  });

  test('is not made by a member who leaves [AUTHZ-89]', async () => {
    const owner = await makeUser(api(), 'stays');
    const leaver = await makeUser(api(), 'leaver');
    await makeUser(api(), 'accomplice');
    await makeOrganization(api(), owner.token, 'guarded');
    for (const name of ['leaver', 'accomplice']) await join(api(), owner.token, 'guarded', name);
    const manager = { name: 'hr', 'organization-access': { 'manage-membership': true } };
    await addToTeam(api(), owner.token, (await makeTeam(api(), owner.token, 'guarded', manager)).id, 'leaver');
    for (const name of ['leaver', 'accomplice']) {
      const path = `/organization-memberships/${await membershipOf(owner.token, 'guarded', name)}`;
      const answer = await request(api(), leaver.token, 'DELETE', `${path}?transfer-to=accomplice`);
      assert.equal(answer.status, 403, answer.text);
    }
    const path = `/organization-memberships/${await membershipOf(owner.token, 'guarded', 'accomplice')}`;
    const others = await request(api(), owner.token, 'DELETE', `${path}?leave-to-site-administrators=true`);
    assert.equal(others.status, 403);
    assert.match(String(errorsOf(others)[0]?.['detail']), /^only an owner who leaves/);
  });

  test('leaves to the site administrators, who list, take over and delete the organization [AUTHZ-89] [AUTHZ-90]', async () => {
    const { token } = await makeUser(api(), 'tired');
    await makeOrganization(api(), token, 'orphaned');
    const path = `/organization-memberships/${await membershipOf(token, 'orphaned', 'tired')}`;
    assert.equal((await request(api(), token, 'DELETE', `${path}?leave-to-site-administrators=true`)).status, 204);
    assert.equal(await isOwner(token, 'orphaned'), 404);
    const { data } = documentOf<ResourceObject[]>(await admin('GET', '/admin/organizations?q=ORPHAN'));
    assert.deepEqual(
      data.map(({ id, attributes }) => [id, attributes['owners-count']]),
      [['orphaned', 0]],
    );
    assert.equal(await isOwner(api().adminToken, 'orphaned'), 404);
    const take = () => admin('POST', '/admin/organizations/orphaned/actions/take-ownership');
    assert.equal(documentOf(await take()).data.attributes['owners-count'], 1);
    assert.equal(documentOf(await take()).data.attributes['owners-count'], 1);
    assert.equal(await isOwner(api().adminToken, 'orphaned'), true);
    const trail = await admin('GET', '/organization/audit-trail?filter[organization]=orphaned');
    const actions = trail
      .json<{ data: { resource: { action: string } }[] }>()
      .data.map(({ resource }) => resource.action);
    assert.ok(actions.includes('leave-to-site-administrators') && actions.includes('take-ownership'), trail.text);
    const entries = await api().state.scan(auditLog, { limit: 1_000 }, new AbortController().signal);
    const taken = entries.filter(({ row }) => row.action === 'take-ownership').map(({ row }) => row.type);
    // Each request adds an entry of the organization and one of the user [AUTHZ-91].
    assert.deepEqual(taken, ['organizations', 'users', 'organizations', 'users']);
    const etag = (await admin('GET', '/admin/organizations/orphaned')).headers.etag ?? '';
    const headers = { 'if-match': etag };
    const remove = { headers };
    assert.equal(
      (await request(api(), api().adminToken, 'DELETE', '/admin/organizations/orphaned', remove)).status,
      204,
    );
    assert.equal((await admin('GET', '/admin/organizations/orphaned')).status, 404);
  });
});
