import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../../../test/support/process/api.ts';
import { OPERATIONS_TYPE } from '../../../test/support/team-access/operations.ts';
import { makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
} from '../../../test/support/team-access/team-access.ts';
import { INVITED_MAX } from '../limits.ts';

const PATH = '/organizations/acme/organization-memberships';
const membership = (email: string) => resource('organization-memberships', { email });

test('an organization can invite another member after one of 500 is claimed or removed [AUTHZ-61]', async () => {
  await using api = await startApi();
  const { token } = await makeUser(api, 'owner');
  await makeOrganization(api, token, 'acme');
  const invite = (email: string) => request(api, token, 'POST', PATH, { body: membership(email) });
  const isFull = async () => {
    const answer = await invite('late@example.org');
    const [fault] = errorsOf(answer);
    assert.deepEqual(fault?.['source'], { pointer: '/data/attributes/email' });
    assert.match(String(fault?.['detail']), /limit of 500 invited members without a token/);
  };
  const operations = Array.from({ length: INVITED_MAX }, (_, i) => ({
    op: 'add',
    href: `/api/v2${PATH}`,
    data: membership(`i-${i}@example.org`).data,
  }));
  const headers = { 'content-type': OPERATIONS_TYPE };
  const all = await request(api, token, 'POST', '/operations', { headers, body: { 'atomic:operations': operations } });
  assert.equal(all.status, 200, all.text);
  await isFull();

  // A member who is already a claimed user does not count.
  await makeUser(api, 'known');
  assert.equal((await invite('known@example.org')).status, 201);
  await isFull();

  const claim = { body: resource('users', { username: 'came', email: 'i-7@example.org' }) };
  assert.equal((await request(api, api.adminToken, 'POST', '/admin/users', claim)).status, 201);
  assert.equal((await invite('next@example.org')).status, 201);
  await isFull();

  const list = await request(api, token, 'GET', `${PATH}?filter[email]=i-8@example.org`);
  const id = documentOf<ResourceObject[]>(list).data[0]?.id;
  assert.equal((await request(api, token, 'DELETE', `/organization-memberships/${id}`)).status, 204);
  assert.equal((await invite('another@example.org')).status, 201);
  await isFull();
});
