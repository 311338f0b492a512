import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import {
  faults,
  makeOrganization,
  NOT_FOUND,
  request,
  resource,
  type Shown,
  seen,
  shown,
} from '../../../test/support/team-access/team-access.ts';
import { makeTeam, makeUser } from '../../../test/support/team-access/team-access-world.ts';
import { until } from '../../../test/support/until.ts';
import { auditLog } from '../../audit/record.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { expireTokensJob } from './expire-tokens.ts';

const TOKEN = /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}$/;
const wanted = (attributes: Readonly<Record<string, unknown>>) => ({
  body: resource('authentication-token', attributes),
});

describe('a token', () => {
  const api = sharedApi();
  const admin = (method: string, path: string, options = {}) => request(api(), api().adminToken, method, path, options);
  const works = async (token: unknown): Promise<boolean> =>
    (await request(api(), String(token), 'GET', '/account/details')).status === 200;
  let team = '';
  before(async () => {
    await makeOrganization(api(), api().adminToken, 'acme');
    team = (await makeTeam(api(), api().adminToken, 'acme', { name: 'robots' })).id;
  });

  test('of a team is shown once, kept as a hash, and acts as the team', async () => {
    const answer = await admin('POST', `/teams/${team}/authentication-token`);
    assert.equal(answer.status, 201);
    const { id, attributes, relationships } = shown(answer).data;
    const secret = String(attributes['token']);
    assert.match(secret, TOKEN);
    assert.deepEqual(relationships['team']?.data, { id: team, type: 'teams' });
    const account = shown(await request(api(), secret, 'GET', '/account/details')).data;
    assert.deepEqual([account.id, account.attributes['is-service-account']], [team, true]);
    await api().usesWritten();
    const read = shown(await admin('GET', `/teams/${team}/authentication-token`)).data;
    assert.deepEqual([read.id, read.attributes['token']], [id, null]);
    assert.match(String(read.attributes['last-used-at']), /Z$/);
    assert.ok(!JSON.stringify(api().state.snapshot.get(apiTokens, id)).includes(secret));
  });

  for (const [what, path] of [
    ['a team', () => `/teams/${team}/authentication-token`],
    ['an organization', () => '/organizations/acme/authentication-token'],
  ] as const) {
    test(`of ${what} takes the place of the one before, and can be revoked`, async () => {
      const first = shown(await admin('POST', path())).data.attributes['token'];
      const second = shown(await admin('POST', path())).data.attributes['token'];
      assert.deepEqual([await works(first), await works(second)], [false, true]);
      assert.deepEqual(seen(await admin('DELETE', path())), [204, '']);
      assert.equal(await works(second), false);
      assert.deepEqual(seen(await admin('GET', path())), NOT_FOUND);
      assert.deepEqual(seen(await admin('DELETE', path())), NOT_FOUND);
    });
  }

  test('of a team can be one of several, each with a description of its own', async () => {
    const path = `/teams/${team}/authentication-tokens`;
    for (const description of ['one', 'two'])
      assert.equal((await admin('POST', path, wanted({ description }))).status, 201);
    const again = await admin('POST', path, wanted({ description: 'one' }));
    assert.equal(faults(again)[0]?.['detail'], 'Description has already been taken');
    assert.equal((await admin('POST', path)).status, 422);
    const list = shown<Shown[]>(await admin('GET', path)).data;
    assert.deepEqual(
      list.map(({ attributes }) => attributes['description']),
      ['one', 'two'],
    );
    const all = shown<Shown[]>(await admin('GET', '/organizations/acme/team-tokens')).data;
    assert.equal(all.length, 2);
  });

  test('of a user is made by that user alone', async () => {
    const user = await makeUser(api(), 'ada');
    const path = `/users/${user.id}/authentication-tokens`;
    assert.deepEqual(seen(await admin('POST', path)), NOT_FOUND);
    const made = shown(await request(api(), user.token, 'POST', path, wanted({ description: 'laptop' }))).data;
    assert.equal(await works(made.attributes['token']), true);
    const list = shown<Shown[]>(await request(api(), user.token, 'GET', path)).data;
    assert.deepEqual(
      list.map(({ attributes }) => attributes['description']),
      ['First token', 'laptop'],
    );
    assert.deepEqual(seen(await admin('DELETE', `/authentication-tokens/${made.id}`)), NOT_FOUND);
    assert.equal((await request(api(), user.token, 'DELETE', `/authentication-tokens/${made.id}`)).status, 204);
    assert.equal(await works(made.attributes['token']), false);
  });

  test('has the same ETag when it has been used, and another when another has taken its place', async () => {
    const path = `/teams/${team}/authentication-token`;
    const secret = shown(await admin('POST', path)).data.attributes['token'];
    const id = shown(await admin('GET', path)).data.id;
    const paths = [path, `/authentication-tokens/${id}`, '/organizations/acme/team-tokens'];
    const tags = () => Promise.all(paths.map(async (one) => String((await admin('GET', one)).headers['etag'])));
    const unused = await tags();
    assert.equal(await works(secret), true);
    await api().usesWritten();
    assert.match(String(shown(await admin('GET', path)).data.attributes['last-used-at']), /Z$/);
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
    test(`that is to expire at ${time} is refused`, async () => {
      const answer = await admin('POST', `/teams/${team}/authentication-token`, wanted({ 'expired-at': time }));
      assert.equal(answer.status, 422);
      assert.equal(faults(answer)[0]?.['detail'], detail);
    });
  }

  test('goes with its team', async () => {
    const { id } = await makeTeam(api(), api().adminToken, 'acme', { name: 'short-lived' });
    const token = shown(await admin('POST', `/teams/${id}/authentication-token`)).data.attributes['token'];
    await admin('DELETE', `/teams/${id}`);
    assert.equal(await works(token), false);
  });
});

test('a token is good until the moment it expires', async () => {
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  await using api = await startApi({ clock });
  await makeOrganization(api, api.adminToken, 'acme');
  const options = wanted({ 'expired-at': '2030-01-01T00:00:01+00:00' });
  const made = await request(api, api.adminToken, 'POST', '/organizations/acme/authentication-token', options);
  const { attributes } = shown(made).data;
  assert.equal(attributes['expired-at'], '2030-01-01T00:00:01.000Z');
  const token = String(attributes['token']);
  clock.advance(999);
  assert.equal((await request(api, token, 'GET', '/organizations/acme')).status, 200);
  clock.advance(1);
  assert.equal((await request(api, token, 'GET', '/organizations/acme')).status, 401);
});

test('a token that has expired is removed in the background, and the audit log says so', async () => {
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  await using api = await startApi({ clock });
  await makeOrganization(api, api.adminToken, 'acme');
  const options = wanted({ 'expired-at': '2030-01-01T00:00:01Z' });
  const made = await request(api, api.adminToken, 'POST', '/organizations/acme/authentication-token', options);
  const { id } = shown(made).data;
  clock.advance(1_000);
  const job = expireTokensJob(api.state, clock);
  const stop = new AbortController();
  const running = job.run(stop.signal);
  await until('it is removed', () => api.state.snapshot.count(apiTokens) === 0);
  stop.abort();
  await Promise.allSettled([running]);
  const entries = await api.state.scan(auditLog, { from: '', to: '~', limit: 100 }, new AbortController().signal);
  const last = entries.at(-1)?.row;
  assert.deepEqual([last?.action, last?.subject, last?.actor], ['expire', id, 'system']);
  assert.match(last?.organizationId ?? '', /^org-/);
  assert.doesNotMatch(JSON.stringify(entries), /secretHash/);
});

test('the use of a token is written at once, and then at most once a minute', async () => {
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
