/** Many changes at once on an etcd with its own default limits: as many as one transaction takes, or nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { teams } from '../../src/team-access/tables/team.ts';
import { teamWorkspaces } from '../../src/team-access/tables/team-workspace.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { etcdStore } from '../support/state/store.ts';
import { operate, resultsOf } from '../support/team-access/operations.ts';
import { type Company, makeCompany } from '../support/team-access/organizations.ts';
import { request, resource, to } from '../support/team-access/team-access.ts';
import { skipWithout } from '../support/tools.ts';

describe('on etcd', { skip: skipWithout('etcd'), timeout: 240_000 }, () => {
  let etcd: EtcdCluster;
  let api: Api;
  let company: Company;
  before(async () => {
    etcd = await startEtcd();
    // Held: no job behind the requests commits meanwhile, nor the use of a token once more.
    api = await startApi({ engine: (await etcdStore(etcd)).engine(), clock: createFakeClock() });
    company = await makeCompany(api.state, 'acme');
    await request(api, company.tokens.owner, 'GET', '/account/details');
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const makeTeams = (count: number, name: string, query = '') => {
    const organization = { organization: to('organizations', 'acme') };
    const add = (_: unknown, i: number) => ({
      op: 'add',
      ...resource('teams', { name: `${name}-${i}` }, organization),
    });
    return operate(api, company.tokens.owner, Array.from({ length: count }, add), { query });
  };
  const counts = () => [teams, teamWorkspaces].map((table) => api.state.snapshot.count(table));

  test('operations that are more than a transaction takes are refused with the limit to raise, in a dry run too', async () => {
    const before = counts();
    for (const query of ['', '?dry-run=true']) {
      const answer = await makeTeams(100, 'many', query);
      assert.equal(answer.status, 413);
      assert.match(answer.text, /etcd\.max-txn-ops/);
      assert.deepEqual(counts(), before);
    }
  });

  test('operations and complete sets that it takes are made in one commit', async () => {
    await api.usesWritten();
    const { index } = api.state.snapshot;
    const made = resultsOf(await makeTeams(50, 'some'));
    assert.equal(api.state.snapshot.index, index + 1);
    const path = `/workspaces/${company.workspaces.other}/team-access`;
    const data = made.map(
      ({ data: team }) => resource('team-workspaces', { access: 'read' }, { team: to('teams', team?.id ?? '') }).data,
    );
    assert.equal((await request(api, company.tokens.owner, 'PUT', path, { body: { data } })).status, 200);
    assert.equal(api.state.snapshot.list(teamWorkspaces, 'workspace', company.workspaces.other).length, 50);
  });
});
