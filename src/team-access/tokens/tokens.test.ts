import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
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
import { until } from '../../../test/support/until.ts';
import { auditLog } from '../../audit/record.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { tokenExpiryJob } from './change-token.ts';

const TOKEN = /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}$/;
const tokenBody = (attributes: Readonly<Record<string, unknown>>) => ({
  body: resource('authentication-token', attributes),
});

describe('an authentication token', () => {
  const api = sharedApi();
  const admin = (method: string, path: string, options = {}) => request(api(), api().adminToken, method, path, options);
  const works = async (token: unknown): Promise<boolean> =>
    (await request(api(), String(token), 'GET', '/account/details')).status === 200;
  let team = '';
  before(async () => {
    await makeOrganization(api(), api().adminToken, 'acme');
    team = (await makeTeam(api(), api().adminToken, 'acme', { name: 'robots' })).id;
  });

  // Verifies [AUTHZ-82].
  test('authenticates as its team, is returned once, and is stored as a hash [AUTHZ-1] [AUTHZ-72] [DOC-64]', async () => {
    const answer = await admin('POST', `/teams/${team}/authentication-token`);
    assert.equal(answer.status, 201);
    const { id, attributes, relationships } = documentOf(answer).data;
    const secret = String(attributes['token']);
    assert.match(secret, TOKEN);
    assert.deepEqual(relationships['team']?.data, { id: team, type: 'teams' });
    const account = documentOf(await request(api(), secret, 'GET', '/account/details')).data;
    assert.deepEqual([account.id, account.attributes['is-service-account']], [team, true]);
    await api().usesWritten();
    const read = documentOf(await admin('GET', `/teams/${team}/authentication-token`)).data;
    assert.deepEqual([read.id, read.attributes['token']], [id, null]);
    assert.match(String(read.attributes['last-used-at']), /Z$/);
    assert.ok(!JSON.stringify(api().state.snapshot.get(apiTokens, id)).includes(secret));
  });

  for (const [what, path] of [
    ['a team', () => `/teams/${team}/authentication-token`],
    ['an organization', () => '/organizations/acme/authentication-token'],
  ] as const) {
    test(`replaces the previous token of ${what} and can be revoked [AUTHZ-75]`, async () => {
      const first = documentOf(await admin('POST', path())).data.attributes['token'];
      const second = documentOf(await admin('POST', path())).data.attributes['token'];
      assert.deepEqual([await works(first), await works(second)], [false, true]);
      assert.deepEqual(statusAndText(await admin('DELETE', path())), [204, '']);
      assert.equal(await works(second), false);
      assert.deepEqual(statusAndText(await admin('GET', path())), NOT_FOUND);
      assert.deepEqual(statusAndText(await admin('DELETE', path())), NOT_FOUND);
    });
  }

  test('needs a unique description within its team at /authentication-tokens [AUTHZ-76] [AUTHZ-82] [DOC-64]', async () => {
    const path = `/teams/${team}/authentication-tokens`;
    for (const description of ['one', 'two'])
      assert.equal((await admin('POST', path, tokenBody({ description }))).status, 201);
    const again = await admin('POST', path, tokenBody({ description: 'one' }));
    assert.equal(errorsOf(again)[0]?.['detail'], 'Description has already been taken');
    assert.equal((await admin('POST', path)).status, 422);
    const list = documentOf<ResourceObject[]>(await admin('GET', path)).data;
    assert.deepEqual(
      list.map(({ attributes }) => attributes['description']),
      ['one', 'two'],
    );
    const all = documentOf<ResourceObject[]>(await admin('GET', '/organizations/acme/team-tokens')).data;
    assert.equal(all.length, 2);
  });

  test('has relationships to its creator and its team, and no links [DOC-65]', async () => {
    const { data: me } = documentOf(await admin('GET', '/account/details'));
    const createdBy = { data: { id: me.id, type: 'users' } };
    const create = async (token: string, path: string) => {
      const { data } = documentOf(await request(api(), token, 'POST', path, tokenBody({ description: 'linked' })));
      assert.ok(!('links' in data));
      return data;
    };
    const ofUser = await create(api().adminToken, `/users/${me.id}/authentication-tokens`);
    assert.deepEqual(ofUser.relationships, { 'created-by': createdBy });
    const ofTeam = await create(api().adminToken, `/teams/${team}/authentication-tokens`);
    assert.deepEqual(ofTeam.relationships, { 'created-by': createdBy, team: { data: { id: team, type: 'teams' } } });
    assert.deepEqual(documentOf(await admin('GET', `/authentication-tokens/${ofTeam.id}`)).data, {
      ...ofTeam,
      attributes: { ...ofTeam.attributes, token: null },
    });
    const owners = documentOf<ResourceObject[]>(await admin('GET', '/organizations/acme/teams?filter[names]=owners'))
      .data[0]?.id;
    const robot = await create(api().adminToken, `/teams/${owners}/authentication-token`);
    const byTeam = await create(String(robot.attributes['token']), '/organizations/acme/authentication-token');
    assert.deepEqual(byTeam.relationships, {});
    for (const { id } of [ofUser, ofTeam, robot]) await admin('DELETE', `/authentication-tokens/${id}`);
  });

  test('of a user can be managed only by that user [AUTHZ-77]', async () => {
    const user = await makeUser(api(), 'ada');
    const path = `/users/${user.id}/authentication-tokens`;
    assert.deepEqual(statusAndText(await admin('POST', path)), NOT_FOUND);
    const created = documentOf(
      await request(api(), user.token, 'POST', path, tokenBody({ description: 'laptop' })),
    ).data;
    assert.equal(await works(created.attributes['token']), true);
    const list = documentOf<ResourceObject[]>(await request(api(), user.token, 'GET', path)).data;
    assert.deepEqual(
      list.map(({ attributes }) => attributes['description']),
      ['First token', 'laptop'],
    );
    assert.deepEqual(statusAndText(await admin('DELETE', `/authentication-tokens/${created.id}`)), NOT_FOUND);
    assert.equal((await request(api(), user.token, 'DELETE', `/authentication-tokens/${created.id}`)).status, 204);
    assert.equal(await works(created.attributes['token']), false);
  });

  test('keeps its ETag when it is used and loses it when it is replaced [DOC-20]', async () => {
    const path = `/teams/${team}/authentication-token`;
    const secret = documentOf(await admin('POST', path)).data.attributes['token'];
    const id = documentOf(await admin('GET', path)).data.id;
    const paths = [path, `/authentication-tokens/${id}`, '/organizations/acme/team-tokens'];
    const tags = () => Promise.all(paths.map(async (one) => String((await admin('GET', one)).headers['etag'])));
    const unused = await tags();
    assert.equal(await works(secret), true);
    await api().usesWritten();
    assert.match(String(documentOf(await admin('GET', path)).data.attributes['last-used-at']), /Z$/);
    assert.deepEqual(await tags(), unused);
    const [tag = ''] = unused;
    assert.equal((await admin('GET', path, { headers: { 'if-none-match': tag } })).status, 304);
    const revoke = () => admin('DELETE', path, { headers: { 'if-match': tag } });
    assert.equal((await revoke()).status, 204);
    await admin('POST', path);
    assert.equal((await revoke()).status, 412);
    assert.equal((await admin('GET', path)).status, 200);
    await admin('DELETE', path);
  });

  for (const [time, detail] of [
    ['soon', 'Expired at is invalid: want a time such as 2026-01-31T00:00:00Z'],
    ['2001-01-01T00:00:00Z', 'Expired at must be in the future'],
  ] as const) {
    test(`is rejected with expired-at ${time} [AUTHZ-80]`, async () => {
      const answer = await admin('POST', `/teams/${team}/authentication-token`, tokenBody({ 'expired-at': time }));
      assert.equal(answer.status, 422);
      assert.equal(errorsOf(answer)[0]?.['detail'], detail);
    });
  }

  test('is revoked by the deletion of its team [AUTHZ-83]', async () => {
    const { id } = await makeTeam(api(), api().adminToken, 'acme', { name: 'short-lived' });
    const token = documentOf(await admin('POST', `/teams/${id}/authentication-token`)).data.attributes['token'];
    await admin('DELETE', `/teams/${id}`);
    assert.equal(await works(token), false);
  });
});

test('an authentication token is valid until its expiration time [AUTHZ-80]', async () => {
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  await using api = await startApi({ clock });
  await makeOrganization(api, api.adminToken, 'acme');
  const options = tokenBody({ 'expired-at': '2030-01-01T00:00:01+00:00' });
  const created = await request(api, api.adminToken, 'POST', '/organizations/acme/authentication-token', options);
  const { attributes } = documentOf(created).data;
  assert.equal(attributes['expired-at'], '2030-01-01T00:00:01.000Z');
  const token = String(attributes['token']);
  clock.advance(999);
  assert.equal((await request(api, token, 'GET', '/organizations/acme')).status, 200);
  clock.advance(1);
  assert.equal((await request(api, token, 'GET', '/organizations/acme')).status, 401);
});

test('an expired authentication token is deleted in the background with an audit entry [AUTHZ-80]', async () => {
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  await using api = await startApi({ clock });
  await makeOrganization(api, api.adminToken, 'acme');
  const options = tokenBody({ 'expired-at': '2030-01-01T00:00:01Z' });
  const created = await request(api, api.adminToken, 'POST', '/organizations/acme/authentication-token', options);
  const { id } = documentOf(created).data;
  clock.advance(1_000);
  const job = tokenExpiryJob(api.state, clock);
  const stop = new AbortController();
  const running = job.run(stop.signal);
  await until('the token is deleted', () => api.state.snapshot.count(apiTokens) === 0);
  stop.abort();
  await Promise.allSettled([running]);
  const entries = await api.state.scan(auditLog, { from: '', to: '~', limit: 100 }, new AbortController().signal);
  const last = entries.at(-1)?.row;
  assert.deepEqual([last?.action, last?.subject, last?.actor], ['expire', id, 'system']);
  assert.match(last?.organizationId ?? '', /^org-/);
  assert.doesNotMatch(JSON.stringify(entries), /secretHash/);
});

test('the first use of an authentication token is stored at once, later uses once a minute [AUTHZ-81]', async () => {
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  await using api = await startApi({ clock });
  const use = async (): Promise<number> => {
    await request(api, api.adminToken, 'GET', '/account/details');
    await api.usesWritten();
    return api.state.snapshot.index;
  };
  const first = await use();
  assert.equal(await use(), first);
  clock.advance(59_999);
  assert.equal(await use(), first);
  clock.advance(1);
  assert.equal(await use(), first + 1);
});
