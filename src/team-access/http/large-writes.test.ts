/** Large writes: applied whole and in slices, and one at a time for each caller. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { rejection, resultsOf, sendOperations } from '../../../test/support/team-access/operations.ts';
import { sharedCompany } from '../../../test/support/team-access/organizations.ts';
import { documentOf, type ResourceObject, request, toOne } from '../../../test/support/team-access/team-access.ts';

describe('large writes', () => {
  const api = sharedApi({ clock: createFakeClock() });
  const company = sharedCompany(api);
  /** Enough operations for a large body. */
  const addTeams = (prefix: string) =>
    Array.from({ length: 200 }, (_, i) => ({
      op: 'add',
      data: {
        type: 'teams',
        attributes: { name: `${prefix}-${i}` },
        relationships: { organization: toOne('organizations', 'acme') },
      },
    }));
  const teamCount = async (prefix: string): Promise<unknown> => {
    const path = `/organizations/acme/teams?q=${prefix}`;
    const answer = await request(api(), company().owner, 'GET', path);
    return documentOf<ResourceObject[]>(answer).meta?.['pagination'];
  };

  test('are applied whole or not at all [TEAM-111]', async () => {
    const whole = resultsOf(await sendOperations(api(), company().owner, addTeams('whole')));
    assert.equal(whole.length, 200);
    const { index } = api().state.snapshot;
    const dryRun = await sendOperations(api(), company().owner, addTeams('dry'), { query: '?dry-run' });
    assert.equal(resultsOf(dryRun).length, 200);
    const failing = [...addTeams('part'), ...addTeams('whole').slice(0, 1)];
    const answer = await sendOperations(api(), company().owner, failing);
    assert.deepEqual(rejection(answer), [422, '/atomic:operations/200/data/attributes/name']);
    await api().usesWritten();
    assert.equal(api().state.snapshot.index, index);
    assert.match(JSON.stringify(await teamCount('part')), /"total-count":0/);
  });

  test('run one at a time for each caller [TEAM-112]', async () => {
    const send = (prefix: string, token = company().owner) => sendOperations(api(), token, addTeams(prefix));
    const other = company().company.tokens['organization-token'] ?? '';
    const answers = await Promise.all([send('first'), send('second'), send('third', other)]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429);
    assert.equal(refused?.headers['retry-after'], '1');
    assert.equal((await send('later')).status, 200);
  });

  test('compute the role again after a change that affects it [TEAM-67] [TEAM-113]', async () => {
    const { teams, tokens, workspaces } = company().company;
    const manager = tokens['admin-by-permission'] ?? '';
    const account = documentOf(await request(api(), manager, 'GET', '/account/details'));
    const addRow = (team: string) => {
      const relationships = { team: toOne('teams', team), workspace: toOne('workspaces', workspaces.other) };
      return { op: 'add', data: { type: 'team-workspaces', attributes: { access: 'read' }, relationships } };
    };
    const ref = { type: 'teams', id: teams.managers };
    const access = { 'manage-workspaces': true, 'manage-membership': true };
    const allow = { op: 'update', ref, data: { type: 'teams', attributes: { 'organization-access': access } } };
    assert.equal((await sendOperations(api(), company().owner, [allow])).status, 200);
    const users = { ...ref, relationship: 'users' };
    const leave = { op: 'remove', ref: users, data: [{ type: 'users', id: account.data.attributes['username'] }] };
    const answer = await sendOperations(api(), manager, [addRow(teams.idle), leave, addRow(teams.visible)]);
    assert.deepEqual(rejection(answer), [404, '/atomic:operations/2'], answer.text);
    assert.equal((await sendOperations(api(), manager, [addRow(teams.idle), leave])).status, 200);
    assert.equal((await sendOperations(api(), manager, [addRow(teams.visible)])).status, 404);
  });
});
