import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
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
import { organizations } from '../tables/organization.ts';

const create = (attributes: Readonly<Record<string, unknown>>) => resource('organizations', attributes);

describe('an organization', () => {
  // The fake clock does not advance, so that no background job and no repeated token use adds a commit.
  const api = sharedApi({ clock: createFakeClock() });

  // Verifies [DOC-2] [DOC-12] [DOC-38].
  test('is created with its default project and owned by the user [AUTHZ-53] [DOC-3] [DOC-4]', async () => {
    const body = create({ name: 'Acme', email: 'a@acme.example', 'cost-estimation-enabled': true, unknown: 1 });
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.equal(answer.status, 201, answer.text);
    const { id, attributes, relationships } = documentOf(answer).data;
    assert.equal(id, 'Acme');
    assert.match(String(attributes['external-id']), /^org-[A-Za-z0-9]{16}$/);
    assert.equal(attributes['cost-estimation-enabled'], true);
    assert.equal(attributes['session-timeout'], 20_160);
    assert.equal('unknown' in attributes, false);
    const permissions = attributes['permissions'] as Record<string, boolean>;
    assert.deepEqual([permissions['can-destroy'], permissions['can-create-team']], [true, true]);
    assert.match(JSON.stringify(relationships['default-project']?.data), /"prj-[A-Za-z0-9]{16}"/);
    const again = await request(api(), api().adminToken, 'GET', '/organizations/acme');
    assert.deepEqual(documentOf(again).data, documentOf(answer).data);
  });

  test('has a unique name without regard to case [DOC-7] [DOC-8]', async () => {
    await makeOrganization(api(), api().adminToken, 'taken');
    const body = create({ name: 'TAKEN', email: 'a@b.example' });
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.equal(answer.status, 422);
    assert.deepEqual(errorsOf(answer), [
      {
        status: '422',
        title: 'invalid attribute',
        detail: 'Name has already been taken',
        source: { pointer: '/data/attributes/name' },
      },
    ]);
  });

  test('is rejected with all attribute errors at once [TEAM-28] [AUTHZ-16]', async () => {
    const body = create({ name: 'a b', 'session-timeout': 'x', plan: 'gold' });
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.equal(answer.status, 422);
    const pointers = errorsOf(answer).map(({ source }) => (source as { pointer: string }).pointer);
    assert.deepEqual(
      pointers.map((pointer) => pointer.replace('/data/attributes/', '')),
      ['name', 'email', 'plan', 'session-timeout'],
    );
  });

  test('keeps the attributes that an update omits [DOC-13]', async () => {
    await makeOrganization(api(), api().adminToken, 'changing');
    const body = create({ name: 'changed', 'session-remember': 5 });
    const answer = await request(api(), api().adminToken, 'PATCH', '/organizations/changing', { body });
    const { attributes } = documentOf(answer).data;
    assert.deepEqual(
      [attributes['name'], attributes['session-remember'], attributes['email']],
      ['changed', 5, 'changing@example.org'],
    );
    assert.deepEqual(
      statusAndText(await request(api(), api().adminToken, 'GET', '/organizations/changing')),
      NOT_FOUND,
    );
  });

  test('is not committed by an update without changes', async () => {
    await makeOrganization(api(), api().adminToken, 'still');
    await api().usesWritten();
    const { snapshot } = api().state;
    const answer = await request(api(), api().adminToken, 'PATCH', '/organizations/still', { body: create({}) });
    assert.equal(answer.status, 200);
    assert.equal(api().state.snapshot, snapshot);
  });

  test('is updated only if If-Match matches its current state [DOC-18]', async () => {
    await makeOrganization(api(), api().adminToken, 'matched');
    const read = await request(api(), api().adminToken, 'GET', '/organizations/matched');
    const tag = read.headers.etag ?? '';
    const write = (etag: string) =>
      request(api(), api().adminToken, 'PATCH', '/organizations/matched', {
        body: create({ 'session-timeout': 7 }),
        headers: { 'if-match': etag },
      });
    assert.equal((await write('"another"')).status, 412);
    assert.equal((await write(tag)).status, 200);
    assert.equal((await write(tag)).status, 412);
    const headers = { 'if-none-match': tag };
    assert.equal((await request(api(), api().adminToken, 'GET', '/organizations/matched', { headers })).status, 200);
    const now = (await request(api(), api().adminToken, 'GET', '/organizations/matched')).headers.etag ?? '';
    const known = await request(api(), api().adminToken, 'GET', '/organizations/matched', {
      headers: { 'if-none-match': now },
    });
    assert.deepEqual(statusAndText(known), [304, '']);
  });

  test('is not found after its deletion, and its name is free [DOC-4]', async () => {
    await makeOrganization(api(), api().adminToken, 'gone');
    const answer = await request(api(), api().adminToken, 'DELETE', '/organizations/gone');
    assert.deepEqual(statusAndText(answer), [204, '']);
    assert.deepEqual(statusAndText(await request(api(), api().adminToken, 'DELETE', '/organizations/gone')), NOT_FOUND);
    assert.equal(api().state.snapshot.find(organizations, 'name', 'gone'), undefined);
    await makeOrganization(api(), api().adminToken, 'gone');
  });

  test('has no teams with the plan free, which a site administrator can set [AUTHZ-17]', async () => {
    await makeOrganization(api(), api().adminToken, 'small');
    const body = create({ plan: 'free' });
    const { attributes } = documentOf(
      await request(api(), api().adminToken, 'PATCH', '/organizations/small', { body }),
    ).data;
    assert.equal((attributes['permissions'] as Record<string, boolean>)['can-create-team'], false);
    const set = documentOf(await request(api(), api().adminToken, 'GET', '/organizations/small/entitlement-set')).data;
    assert.deepEqual([set.attributes['teams'], set.attributes['agents']], [false, false]);
  });

  test('is listed for its members in pages [AUTHZ-56] [DOC-24] [DOC-27]', async () => {
    const list = async (query: string) =>
      documentOf<ResourceObject[]>(await request(api(), api().adminToken, 'GET', `/organizations?${query}`));
    const all = (await list('page[size]=100')).data.map(({ id }) => id);
    const { data, links, meta } = await list('page[number]=2&page[size]=1');
    assert.deepEqual(
      data.map(({ id }) => id),
      all.slice(1, 2),
    );
    assert.equal(meta?.pagination['total-count'], all.length);
    assert.match(links?.['prev'] ?? '', /^http:\/\/127\.0\.0\.1:\d+\/api\/v2\/organizations\?page%5Bnumber%5D=1&/);
    assert.deepEqual(
      (await list('q=ACM')).data.map(({ id }) => id),
      ['Acme'],
    );
  });
});
