/** Requests with many changes on an etcd with its default limits: one transaction, or a rejection [TEAM-74]. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { INVITATION_TEAMS_MAX } from '../../src/team-access/limits.ts';
import { teams } from '../../src/team-access/tables/team.ts';
import { teamWorkspaces } from '../../src/team-access/tables/team-workspace.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { etcdStore } from '../support/state/store.ts';
import { resultsOf, sendOperations } from '../support/team-access/operations.ts';
import { makeUser } from '../support/team-access/organization-fixture.ts';
import { type Company, makeCompany } from '../support/team-access/organizations.ts';
import { documentOf, makeOrganization, request, resource, toOne } from '../support/team-access/team-access.ts';
import { skipWithout } from '../support/tools.ts';

describe('on etcd', { skip: skipWithout('etcd'), timeout: 240_000 }, () => {
  let etcd: EtcdCluster;
  let api: Api;
  let company: Company;
  before(async () => {
    etcd = await startEtcd();
    // With a fake clock, no background job commits and no token records a second use.
    api = await startApi({ engine: (await etcdStore(etcd)).engine(), clock: createFakeClock() });
    company = await makeCompany(api.state, 'acme');
    await request(api, company.tokens.owner, 'GET', '/account/details');
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const createTeams = (count: number, name: string, query = '') => {
    const organization = { organization: toOne('organizations', 'acme') };
    const add = (_: unknown, i: number) => ({
      op: 'add',
      ...resource('teams', { name: `${name}-${i}` }, organization),
    });
    return sendOperations(api, company.tokens.owner, Array.from({ length: count }, add), { query });
  };
  const counts = () => [teams, teamWorkspaces].map((table) => api.state.snapshot.count(table));

  test('operations above etcd.max-txn-ops get 413 with the name of the limit, also in a dry run [TEAM-89]', async () => {
    const before = counts();
    for (const query of ['', '?dry-run=true']) {
      const answer = await createTeams(100, 'many', query);
      assert.equal(answer.status, 413);
      assert.match(answer.text, /etcd\.max-txn-ops/);
      assert.deepEqual(counts(), before);
    }
  });

  test('operations and complete sets within the limit are one commit', async () => {
    await api.usesWritten();
    const { index } = api.state.snapshot;
    const made = resultsOf(await createTeams(50, 'some'));
    assert.equal(api.state.snapshot.index, index + 1);
    const path = `/workspaces/${company.workspaces.other}/team-access`;
    const data = made.map(
      ({ data: team }) =>
        resource('team-workspaces', { access: 'read' }, { team: toOne('teams', team?.id ?? '') }).data,
    );
    assert.equal((await request(api, company.tokens.owner, 'PUT', path, { body: { data } })).status, 200);
    assert.equal(api.state.snapshot.list(teamWorkspaces, 'workspace', company.workspaces.other).length, 50);
  });

  test('accepting an invitation to 50 teams is one commit [AUTHZ-95] [AUTHZ-96]', async () => {
    const engine = (await etcdStore(etcd)).engine();
    await using accepting = await startApi({ engine, clock: createFakeClock(), invitations: 'accept' });
    const { adminToken } = accepting;
    const { id } = await makeOrganization(accepting, adminToken, 'many');
    const { token } = await makeUser(accepting, 'ann');
    const organization = { organization: toOne('organizations', id) };
    const operations = Array.from({ length: INVITATION_TEAMS_MAX - 1 }, (_, i) => ({
      op: 'add',
      ...resource('teams', { name: `team-${i}` }, organization),
    }));
    resultsOf(await sendOperations(accepting, adminToken, operations));
    const data = accepting.state.snapshot.all(teams).map(({ row }) => ({ type: 'teams', id: row.id }));
    assert.equal(data.length, INVITATION_TEAMS_MAX);
    const body = resource('organization-memberships', { email: 'ann@example.org' }, { teams: { data } });
    const path = `/organizations/${id}/organization-memberships`;
    const invited = documentOf(await request(accepting, adminToken, 'POST', path, { body })).data;
    await request(accepting, token, 'GET', '/account/details');
    await accepting.usesWritten();
    const { index } = accepting.state.snapshot;
    const accepted = await request(accepting, token, 'POST', `/organization-memberships/${invited.id}/actions/accept`);
    assert.deepEqual(
      documentOf(accepted).data.relationships['teams']?.data,
      data.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    assert.equal(accepting.state.snapshot.index, index + 1);
    assert.equal((await request(accepting, token, 'GET', `/organizations/${id}`)).status, 200);
  });
});
