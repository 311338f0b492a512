/** Every error of the team-workspaces endpoints with its exact body. A rejected request changes nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import {
  joinCompany,
  makeCompany,
  rowBody,
  sharedCompany,
  UNAUTHENTICATED,
} from '../../../test/support/team-access/organizations.ts';
import { REJECTED_REQUESTS, valueError } from '../../../test/support/team-access/rejected-requests.ts';
import { NOT_FOUND, request, statusAndText } from '../../../test/support/team-access/team-access.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';

describe('team-workspaces endpoints', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);

  // Verifies [TEAM-29] [TEAM-30] [TEAM-33] [TEAM-38] [TEAM-41] [TEAM-42] [TEAM-43] [TEAM-45] [TEAM-49] [TEAM-56].
  // Verifies [DOC-15] [DOC-23] [DOC-30].
  for (const { condition: what, method, path, body, headers = {}, status, errors } of REJECTED_REQUESTS) {
    test(`return ${status} to ${method}: ${what}`, async () => {
      const { company, owner } = setUp();
      const before = api().state.snapshot.tables.get(teamWorkspaces);
      const answer = await request(api(), owner, method, path?.(company) ?? '/team-workspaces', {
        body: body?.(company),
        headers,
      });
      const expected = { errors: errors.map((error) => ({ status: String(status), ...error })) };
      assert.deepEqual(statusAndText(answer), [status, JSON.stringify(expected)]);
      assert.equal(answer.headers['content-type'], 'application/vnd.api+json; charset=utf-8');
      assert.equal(api().state.snapshot.tables.get(teamWorkspaces), before);
    });
  }

  test('return 413 to a body over limits.body [TEAM-21]', async () => {
    const { owner } = setUp();
    const answer = await request(api(), owner, 'POST', '/team-workspaces', { body: ' '.repeat(1024 * 1024 + 1) });
    assert.equal(answer.status, 413);
    assert.match(answer.text, /^\{"errors":\[\{"status":"413","title":"payload too large","detail":"/);
  });

  test('return 405 with the allowed methods to another method [TEAM-36]', async () => {
    const { company, owner } = setUp();
    const answer = await request(api(), owner, 'PUT', `/team-workspaces/${company.rows.visible}`, { body: {} });
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, PATCH, DELETE, HEAD, OPTIONS']);
  });

  test('return 422 with the ID of the existing row to a pair that has one [TEAM-46]', async () => {
    const { company, owner } = setUp();
    const body = rowBody(company.teams.visible, company.workspaces.main, { access: 'custom' });
    const answer = await request(api(), owner, 'POST', '/team-workspaces', { body });
    const fault = {
      status: '422',
      ...valueError('Team has already been taken', '/data/relationships/team'),
      meta: { 'existing-id': company.rows.visible },
    };
    assert.deepEqual(statusAndText(answer), [422, JSON.stringify({ errors: [fault] })]);
  });

  test('return 404 to a hidden team of another organization, and 422 to a visible one [TEAM-29] [TEAM-44]', async () => {
    const { company, owner } = setUp();
    const other = await makeCompany(api().state, 'other');
    for (const team of [other.teams.visible, other.teams.secret, other.teams.owners]) {
      const body = rowBody(team, company.workspaces.main, { access: 'nonsense' });
      assert.deepEqual(statusAndText(await request(api(), owner, 'POST', '/team-workspaces', { body })), NOT_FOUND);
    }
    await api().state.write((tx) => joinCompany(tx, company, other));
    const known = rowBody(other.teams.visible, company.workspaces.main, { access: 'read' });
    const answer = await request(api(), owner, 'POST', '/team-workspaces', { body: known });
    const fault = valueError("Team must belong to the workspace's organization", '/data/relationships/team');
    assert.deepEqual(statusAndText(answer), [422, JSON.stringify({ errors: [{ status: '422', ...fault }] })]);
    const secret = rowBody(other.teams.secret, company.workspaces.main, { access: 'read' });
    assert.deepEqual(
      statusAndText(await request(api(), owner, 'POST', '/team-workspaces', { body: secret })),
      NOT_FOUND,
    );
  });

  test('return 401 to a request without a valid token before all other checks [TEAM-27]', async () => {
    const { company } = setUp();
    for (const kind of UNAUTHENTICATED) {
      const headers = { 'content-type': 'text/plain', accept: 'text/html' };
      const answer = await request(api(), company.tokens[kind], 'POST', '/team-workspaces', { body: '{', headers });
      assert.deepEqual(statusAndText(answer), [401, '{"errors":[{"status":"401","title":"unauthorized"}]}']);
    }
  });
});
