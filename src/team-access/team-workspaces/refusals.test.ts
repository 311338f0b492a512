/** Every refusal with its exact body, and that what is refused changes nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import {
  joinCompany,
  makeCompany,
  NOBODIES,
  rowBody,
  sharedCompany,
} from '../../../test/support/team-access/organizations.ts';
import { badValue, REFUSED_REQUESTS } from '../../../test/support/team-access/refused-team-workspaces.ts';
import { NOT_FOUND, request, seen } from '../../../test/support/team-access/team-access.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';

describe('refused is', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);

  for (const { what, method, path, body, headers = {}, status, errors } of REFUSED_REQUESTS) {
    test(`${what} (${method}, ${status})`, async () => {
      const { company, owner } = setUp();
      const before = api().state.snapshot.trees.get(teamWorkspaces);
      const answer = await request(api(), owner, method, path?.(company) ?? '/team-workspaces', {
        body: body?.(company),
        headers,
      });
      const expected = { errors: errors.map((error) => ({ status: String(status), ...error })) };
      assert.deepEqual(seen(answer), [status, JSON.stringify(expected)]);
      assert.equal(answer.headers['content-type'], 'application/vnd.api+json; charset=utf-8');
      assert.equal(api().state.snapshot.trees.get(teamWorkspaces), before);
    });
  }

  test('a body over the limit', async () => {
    const { owner } = setUp();
    const answer = await request(api(), owner, 'POST', '/team-workspaces', { body: ' '.repeat(1024 * 1024 + 1) });
    assert.equal(answer.status, 413);
    assert.match(answer.text, /^\{"errors":\[\{"status":"413","title":"payload too large","detail":"/);
  });

  test('a method that is not there, with those that are', async () => {
    const { company, owner } = setUp();
    const answer = await request(api(), owner, 'PUT', `/team-workspaces/${company.rows.visible}`, { body: {} });
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, PATCH, DELETE, HEAD, OPTIONS']);
  });

  test('a pair that exists, with the id of its row', async () => {
    const { company, owner } = setUp();
    const body = rowBody(company.teams.visible, company.workspaces.main, { access: 'custom' });
    const answer = await request(api(), owner, 'POST', '/team-workspaces', { body });
    const fault = {
      status: '422',
      ...badValue('Team has already been taken', '/data/relationships/team'),
      meta: { 'existing-id': company.rows.visible },
    };
    assert.deepEqual(seen(answer), [422, JSON.stringify({ errors: [fault] })]);
  });

  test('a team of another organization: not there for who does not know it, else with a reason', async () => {
    const { company, owner } = setUp();
    const other = await makeCompany(api().state, 'other');
    for (const team of [other.teams.visible, other.teams.secret, other.teams.owners]) {
      const body = rowBody(team, company.workspaces.main, { access: 'nonsense' });
      assert.deepEqual(seen(await request(api(), owner, 'POST', '/team-workspaces', { body })), NOT_FOUND);
    }
    await api().state.write((tx) => joinCompany(tx, company, other));
    const known = rowBody(other.teams.visible, company.workspaces.main, { access: 'read' });
    const answer = await request(api(), owner, 'POST', '/team-workspaces', { body: known });
    const fault = badValue("Team must be of the workspace's organization", '/data/relationships/team');
    assert.deepEqual(seen(answer), [422, JSON.stringify({ errors: [{ status: '422', ...fault }] })]);
    const secret = rowBody(other.teams.secret, company.workspaces.main, { access: 'read' });
    assert.deepEqual(seen(await request(api(), owner, 'POST', '/team-workspaces', { body: secret })), NOT_FOUND);
  });

  test('everything without a good token, before anything else', async () => {
    const { company } = setUp();
    for (const kind of NOBODIES) {
      const headers = { 'content-type': 'text/plain', accept: 'text/html' };
      const answer = await request(api(), company.tokens[kind], 'POST', '/team-workspaces', { body: '{', headers });
      assert.deepEqual(seen(answer), [401, '{"errors":[{"status":"401","title":"unauthorized"}]}']);
    }
  });
});
