/** Checks that a restart reads the same rows from the store that were in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCHEMA } from '../../src/main/schema.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import { teamWorkspaces } from '../../src/team-access/tables/team-workspace.ts';
import { startApi } from '../support/process/api.ts';
import { dumpState, openState } from '../support/state/state.ts';
import { makeCompany, rowBody } from '../support/team-access/organizations.ts';
import { request } from '../support/team-access/team-access.ts';

test('a restart preserves every row', async () => {
  await using api = await startApi();
  const company = await makeCompany(api.state, 'acme');
  const { owner } = company.tokens;
  const attributes = { access: 'custom', runs: 'apply', 'expires-at': '2999-01-01T00:00:00Z' };
  const body = rowBody(company.teams.idle, company.workspaces.other, attributes);
  await request(api, owner, 'POST', '/team-workspaces', { body });
  await request(api, owner, 'DELETE', `/team-workspaces/${company.rows.visible}`);
  await api.usesWritten();
  const inMemory = dumpState(api.state.snapshot);
  await api.state[Symbol.asyncDispose]();
  await using reopened = await openState(sqliteEngine({ directory: api.directory }), { schema: SCHEMA });
  assert.deepEqual(dumpState(reopened.snapshot), inMemory);
  assert.equal(reopened.snapshot.all(teamWorkspaces).length, 3);
});
