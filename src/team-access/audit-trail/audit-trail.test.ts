import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  type Company,
  makeCompany,
  rowBody,
  UNAUTHENTICATED,
} from '../../../test/support/team-access/organizations.ts';
import {
  errorsOf,
  makeOrganization,
  NOT_FOUND,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';
import { until } from '../../../test/support/until.ts';
import { auditLog, SYSTEM } from '../../audit/record.ts';
import { auditRetentionJob } from '../../audit/retention.ts';
import { recordTeamAccessChange, removeFromTrail, trailCommits } from '../audit.ts';
import { rowExpiryJob } from '../team-workspaces/change-team-workspace.ts';
import { tokenExpiryJob } from '../tokens/change-token.ts';
import { readTrail } from './read-trail.ts';

interface TrailEntry {
  readonly id: string;
  readonly timestamp: string;
  readonly auth: Readonly<Record<string, unknown>>;
  readonly request: { readonly id: string; readonly address: string };
  readonly resource: {
    readonly id: string;
    readonly type: string;
    readonly action: string;
    readonly meta: Readonly<Record<string, unknown>>;
  };
}

interface TrailDocument {
  readonly data: readonly TrailEntry[];
  readonly pagination: Readonly<Record<string, number | null>>;
}

const PATH = '/organization/audit-trail';
const read = async (api: Api, token: string | null, query = ''): Promise<TrailDocument> => {
  const answer = await request(api, token, 'GET', `${PATH}?${query}`);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['content-type'], 'application/json');
  return answer.json<TrailDocument>();
};
const changesIn = ({ data }: TrailDocument): string[] =>
  data.map(({ resource: { type, action } }) => `${action} ${type}`);

describe('an entry of the audit trail', () => {
  const api = sharedApi();

  // Verifies [TEAM-96] [TEAM-103].
  test('contains the actor, the origin, and the resource before and after [TEAM-99] [TEAM-100] [TEAM-101]', async () => {
    const owner = await makeUser(api(), 'trail-owner');
    await makeOrganization(api(), owner.token, 'trail');
    const team = await makeTeam(api(), owner.token, 'trail', { name: 'ops' });
    const post = async (path: string, body: unknown, method = 'POST') => {
      const answer = await request(api(), owner.token, method, path, { body });
      assert.ok(answer.status < 300, answer.text);
      return answer.text === '' ? undefined : answer.json<{ data: { id: string } }>().data.id;
    };
    const workspace = (await post('/organizations/trail/workspaces', resource('workspaces', { name: 'web' }))) ?? '';
    const row = (await post('/team-workspaces', rowBody(team.id, workspace, { access: 'read' }))) ?? '';
    await post(`/team-workspaces/${row}`, resource('team-workspaces', { access: 'write' }), 'PATCH');
    await post(`/team-workspaces/${row}`, undefined, 'DELETE');
    await post(
      '/organizations/trail/organization-memberships',
      resource('organization-memberships', { email: 'new@x' }),
    );
    await post(`/teams/${team.id}/relationships/users`, { data: [{ type: 'users', id: 'new' }] });
    await post(`/teams/${team.id}/authentication-token`, undefined);
    await post(`/organizations/trail`, resource('organizations', { email: 'b@example.org' }), 'PATCH');
    await post(`/teams/${team.id}`, undefined, 'DELETE');

    const trail = await read(api(), owner.token, 'filter[organization]=TRAIL');
    assert.deepEqual(changesIn(trail), [
      'create organization',
      'create team',
      'create workspace',
      'add_team workspace',
      'update_team_permissions workspace',
      'remove_team workspace',
      'create user',
      'create organization_membership',
      'create team_member',
      'create authentication_token',
      'update organization',
      'destroy team',
    ]);
    const organizationId = trail.data[0]?.resource.id ?? '';
    for (const { auth, request: from } of trail.data) {
      assert.deepEqual(auth, {
        accessor_id: owner.id,
        description: 'trail-owner',
        type: 'Client',
        impersonator_id: null,
        organization_id: organizationId,
      });
      assert.match(from.id, /^test/);
      assert.match(from.address, /127\.0\.0\.1/);
    }
    const updated = trail.data[4]?.resource;
    assert.ok(updated !== undefined);
    const { id, meta } = updated;
    const permissions = meta['permissions'] as Readonly<Record<'before' | 'after', { readonly access: string }>>;
    assert.deepEqual([id, meta['team'], meta['team_workspace']], [workspace, team.id, row]);
    assert.deepEqual([permissions.before.access, permissions.after.access], ['read', 'write']);
    assert.deepEqual(trail.pagination, {
      current_page: 1,
      prev_page: null,
      next_page: null,
      total_pages: 1,
      total_count: 12,
    });
  });

  test('contains no secret and no hash of one [TEAM-104]', async () => {
    const company = await makeCompany(api().state, 'secretive');
    const owner = company.tokens.owner;
    const secrets: string[] = [];
    for (const path of [
      `/teams/${company.teams.visible}/authentication-token`,
      '/organizations/secretive/authentication-token',
    ]) {
      const { data } = (await request(api(), owner, 'POST', path)).json<{ data: { attributes: { token: string } } }>();
      secrets.push(data.attributes.token);
    }
    const answer = await request(api(), secrets[1] ?? null, 'GET', PATH);
    assert.equal(changesIn(answer.json()).filter((one) => one === 'create authentication_token').length, 2);
    for (const secret of secrets) assert.ok(!answer.text.includes(secret));
    assert.doesNotMatch(answer.text, /secretHash|atlasv1/i);
  });

  test('contains the length and hash of a long setting [TEAM-104]', async () => {
    const owner = await makeUser(api(), 'long-owner');
    await makeOrganization(api(), owner.token, 'long');
    const prefixes = Array.from({ length: 100 }, () => 'x'.repeat(1_000));
    const body = resource('workspaces', { name: 'web', 'trigger-prefixes': prefixes, description: 'short' });
    await request(api(), owner.token, 'POST', '/organizations/long/workspaces', { body });
    const { data } = await read(api(), owner.token, 'filter[organization]=long');
    const after = data.at(-1)?.resource.meta['after'] as { settings: Readonly<Record<string, unknown>> } | undefined;
    const settings = after?.settings ?? {};
    assert.equal(settings['description'], 'short');
    assert.deepEqual(Object.keys(settings['trigger-prefixes'] as object), ['characters', 'sha256']);
  });
});

describe('GET /organization/audit-trail', () => {
  const api = sharedApi();
  let company: Company;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
    for (const name of ['one', 'two', 'three']) {
      await makeTeam(api(), company.tokens.owner ?? '', 'acme', { name });
    }
  });

  test("answers the organization's token and owners [TEAM-97]", async () => {
    const byToken = await read(api(), company.tokens['organization-token']);
    assert.deepEqual(changesIn(byToken), ['create team', 'create team', 'create team']);
    assert.deepEqual(await read(api(), company.tokens.owner, 'filter[organization]=acme'), byToken);
    for (const own of ['acme', 'ACME', '']) {
      const found = await read(api(), company.tokens['organization-token'], `filter[organization]=${own}`);
      assert.deepEqual(found, byToken);
    }
  });

  test('returns 404 to all other callers [TEAM-97]', async () => {
    for (const [caller, token] of Object.entries(company.tokens)) {
      if (['owner', 'organization-token'].includes(caller)) continue;
      const answer = await request(api(), token, 'GET', `${PATH}?filter[organization]=acme`);
      const nobody = UNAUTHENTICATED.some((one) => one === caller);
      assert.deepEqual(nobody ? answer.status : statusAndText(answer), nobody ? 401 : NOT_FOUND, caller);
    }
    const elsewhere = `${PATH}?filter[organization]=acme-elsewhere`;
    assert.deepEqual(
      statusAndText(await request(api(), company.tokens['organization-token'], 'GET', elsewhere)),
      NOT_FOUND,
    );
    assert.deepEqual(statusAndText(await request(api(), company.tokens.owner, 'GET', elsewhere)), NOT_FOUND);
  });

  test('returns 404 with the plan free [TEAM-97]', async () => {
    const free = await makeCompany(api().state, 'gratis', 'free');
    assert.deepEqual(statusAndText(await request(api(), free.tokens['organization-token'], 'GET', PATH)), NOT_FOUND);
  });

  test('returns pages with an exact total count [TEAM-105]', async () => {
    const token = company.tokens['organization-token'];
    const { data: all } = await read(api(), token);
    const first = await read(api(), token, 'page[size]=2');
    assert.deepEqual(first.data, all.slice(0, 2));
    assert.deepEqual(first.pagination, {
      current_page: 1,
      prev_page: null,
      next_page: 2,
      total_pages: 2,
      total_count: 3,
    });
    const second = await read(api(), token, 'page[size]=2&page[number]=2');
    assert.deepEqual(second.data, all.slice(2));
    assert.deepEqual([second.pagination['prev_page'], second.pagination['next_page']], [1, null]);
    const past = await read(api(), token, 'page[number]=1000000');
    assert.deepEqual([past.data, past.pagination['total_count']], [[], 3]);
  });

  test('returns 422 with all errors of the query [TEAM-28]', async () => {
    const answer = await request(
      api(),
      company.tokens.owner,
      'GET',
      `${PATH}?since=today&page[size]=1001&page[number]=0`,
    );
    assert.equal(answer.status, 422);
    assert.deepEqual(
      errorsOf(answer).map(({ source }) => (source as { parameter: string }).parameter),
      ['filter[organization]', 'since', 'page[number]', 'page[size]'],
    );
  });
});

test('an audit trail reports expired rows as remove_team and expired tokens as destroy [TEAM-102]', async () => {
  const clock = createFakeClock();
  await using api = await startApi({ clock });
  const { rows, teams, tokens, workspaces } = await makeCompany(api.state, 'acme');
  const end = new Date(clock.now() + 1_000).toISOString();
  const body = resource('team-workspaces', { 'expires-at': end });
  await request(api, tokens.owner, 'PATCH', `/team-workspaces/${rows.secret}`, { body });
  const tokenBody = resource('authentication-tokens', { 'expired-at': end });
  const created = await request(api, tokens.owner, 'POST', `/teams/${teams.idle}/authentication-token`, {
    body: tokenBody,
  });
  const { id } = created.json<{ data: { id: string } }>().data;
  api.state.addJob(rowExpiryJob(api.state, clock));
  api.state.addJob(tokenExpiryJob(api.state, clock));
  const expired = async () =>
    (await read(api, tokens['organization-token'])).data.filter(({ auth }) => auth['type'] === 'System');
  await until('the row and the token are deleted', async () => {
    await clock.run(1_000);
    return (await expired()).length === 2;
  });
  const changes = (await expired()).map((entry) => entry.resource);
  const ofRow = changes.find(({ type }) => type === 'workspace');
  assert.deepEqual([ofRow?.action, ofRow?.id], ['remove_team', workspaces.main]);
  const { team, team_workspace: row, permissions } = ofRow?.meta ?? {};
  assert.deepEqual([team, row], [teams.secret, rows.secret]);
  const { before, after } = permissions as Readonly<Record<'before' | 'after', object | null>>;
  assert.equal(after, null);
  const attributes = ['runs', 'variables', 'state-versions', 'policy-mocks', 'workspace-locking', 'run-tasks'];
  for (const name of [...attributes, 'sentinel-mocks', 'policy-overrides']) assert.ok(name in (before ?? {}), name);
  const ofToken = changes.find(({ type }) => type === 'authentication_token');
  assert.deepEqual([ofToken?.action, ofToken?.id], ['destroy', id]);
});

test('an audit trail begins at since and at the end of the retention period [TEAM-106, TEAM-107]', async () => {
  const clock = createFakeClock();
  await using api = await startApi({ clock });
  const company = await makeCompany(api.state, 'acme');
  const token = company.tokens['organization-token'];
  const change = (subject: string) =>
    api.state.write((tx) => {
      const entry = { organizationId: company.id, action: 'create', type: 'teams', subject, before: null, after: {} };
      recordTeamAccessChange(tx, SYSTEM, entry);
    });
  const times: string[] = [];
  for (let minute = 0; minute < 20; minute++) {
    times.push(new Date(clock.now()).toISOString());
    await Promise.all([change(`a${minute}`), change(`b${minute}`)]);
    clock.advance(60_000);
  }
  for (const minute of [0, 7, 19]) {
    const { data, pagination } = await read(api, token, `since=${times[minute]}&page[size]=3`);
    assert.deepEqual([pagination['total_count'], data[0]?.timestamp], [2 * (20 - minute), times[minute]]);
    assert.equal(data[0]?.auth['type'], 'System');
  }
  const later = new Date(clock.now()).toISOString();
  assert.deepEqual((await read(api, token, `since=${later}`)).data, []);

  const retention = { clock, steadyMs: () => Number.POSITIVE_INFINITY, retentionMs: 10 * 60_000 };
  api.state.addJob(auditRetentionJob(api.state, { ...retention, onRemoved: removeFromTrail }));
  const signal = new AbortController().signal;
  await until('the old entries are removed', async () => (await read(api, token)).pagination['total_count'] === 20);
  const { data } = await read(api, token);
  assert.deepEqual(data.map(({ resource }) => resource.id).toSorted(), subjectsFrom(10));
  const kept = await api.state.scan(trailCommits, { limit: 100 }, signal);
  const log = await api.state.scan(auditLog, { limit: 1_000 }, signal);
  const ofCompany = log.filter(({ row }) => row.organizationId === company.id);
  const inLog = [...new Set(ofCompany.map(({ modifyIndex }) => modifyIndex))].toReversed();
  // Newest first. The last row is of the newest removed commit, because the job does not know yet that it is complete.
  assert.deepEqual(
    kept.slice(0, -1).map(({ row }) => row.index),
    inLog,
  );
});

test('an audit trail contains the remaining entries of a commit that is being removed', async () => {
  await using api = await startApi();
  const company = await makeCompany(api.state, 'acme');
  const { owner, 'organization-token': token } = company.tokens;
  const record = (...subjects: string[]) =>
    api.state.write((tx) => {
      for (const subject of subjects) {
        const entry = { organizationId: company.id, action: 'create', type: 'teams', subject, before: null, after: {} };
        recordTeamAccessChange(tx, SYSTEM, entry);
      }
    });
  await record('a1', 'a2', 'a3', 'a4');
  await record('b1', 'b2', 'b3');
  const signal = new AbortController().signal;
  const rowsOf = async () => (await api.state.scan(trailCommits, { limit: 100 }, signal)).length;
  const removeOldest = async (count: number) => {
    const log = await api.state.scan(auditLog, { limit: 1_000 }, signal);
    for (const { row } of log.filter((entry) => entry.row.organizationId === company.id).slice(0, count)) {
      await api.state.write((tx) => {
        tx.purge(auditLog, row.id);
        removeFromTrail(tx, row);
      });
    }
  };
  const subjectsRead = async (query = '') => {
    const { data, pagination } = await read(api, token, query);
    assert.equal(pagination['total_count'], data.length);
    return data.map(({ resource }) => resource.id);
  };
  await removeOldest(2);
  assert.deepEqual(await subjectsRead(), ['a3', 'a4', 'b1', 'b2', 'b3']);
  assert.deepEqual(await subjectsRead('since=2000-01-01T00:00:00Z'), ['a3', 'a4', 'b1', 'b2', 'b3']);
  await removeOldest(2);
  assert.deepEqual(await subjectsRead(), ['b1', 'b2', 'b3']);
  await removeOldest(2);
  assert.deepEqual([await subjectsRead(), await rowsOf()], [['b3'], 1]);

  // The trail is deleted with the organization. The removal of its remaining entries leaves no rows.
  await record('c1', 'c2');
  assert.equal((await request(api, owner ?? null, 'DELETE', '/organizations/acme')).status, 204);
  await removeOldest(100);
  assert.equal(await rowsOf(), 0);
});

const subjectsFrom = (minute: number): string[] =>
  Array.from({ length: 20 - minute }, (_, i) => [`a${minute + i}`, `b${minute + i}`])
    .flat()
    .toSorted();

test('a page of an audit trail reads about as many rows as it has entries, regardless of its position', async () => {
  await using api = await startApi();
  const quiet = await makeCompany(api.state, 'quiet');
  const loud = await makeCompany(api.state, 'loud');
  const record = (organizationId: string, subject: string, count = 1) =>
    api.state.write((tx) => {
      for (let i = 0; i < count; i++) {
        const entry = { organizationId, action: 'create', type: 'teams', subject, before: null, after: {} };
        recordTeamAccessChange(tx, SYSTEM, entry);
      }
    });
  // Single entries between many commits of another organization, then two commits with many entries.
  for (let i = 0; i < 40; i++) {
    await record(loud.id, 'loud', 50);
    await record(quiet.id, `single ${i}`);
  }
  await record(quiet.id, 'bulk', 2_000);
  await record(quiet.id, 'second bulk', 1_000);
  let rows = 0;
  const scan = api.state.scan.bind(api.state);
  Object.defineProperty(api.state, 'scan', {
    value: async (...given: Parameters<typeof scan>) => {
      const found = await scan(...given);
      rows += found.length;
      return found;
    },
  });
  const page = async (number: number, size: number) => {
    rows = 0;
    const query = { organizationId: quiet.id, sinceMs: 0, page: { number, size } };
    const found = await readTrail(api.state, query, new AbortController().signal);
    assert.equal(found.totalCount, 3_040);
    return found.entries;
  };
  for (const number of [1, 2, 4]) {
    const entries = await page(number, 10);
    assert.deepEqual(
      entries.map(({ subject }) => subject),
      Array.from({ length: 10 }, (_, i) => `single ${(number - 1) * 10 + i}`),
    );
    assert.ok(rows <= 500 + 10 * 17 + 10, `${rows} rows`);
  }
  const across = await page(3, 30);
  assert.deepEqual(new Set(across.map(({ subject }) => subject)), new Set(['bulk']));
  // Within one commit, the entries before the page are read too.
  assert.equal((await page(204, 10)).length, 10);
  assert.ok(rows <= 2_000 + 500, `${rows} rows`);
  const second = await page(103, 20);
  assert.deepEqual(new Set(second.map(({ subject }) => subject)), new Set(['second bulk']));
  assert.ok(rows <= 500 + 20, `${rows} rows`);
  const everything = await page(1, 4_000);
  assert.deepEqual(
    everything.map(({ place }) => place?.number),
    Array.from({ length: 3_040 }, (_, i) => i + 1),
  );
});
