import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { putTeamWorkspace, rowBody, sharedCompany } from '../../../test/support/team-access/organizations.ts';
import { documentOf, request, resource, statusAndText } from '../../../test/support/team-access/team-access.ts';
import { ACCESS_LEVELS, type AccessLevel, createAccess } from '../tables/team-workspace.ts';

type Values = Readonly<Record<string, unknown>>;

/** The attributes of each level in documents [TEAM-8]. */
const SHOWN: Readonly<Record<AccessLevel, Values>> = {
  read: row('read', 'read', 'read', 'none', false, false),
  plan: row('plan', 'read', 'read', 'none', false, false),
  write: row('apply', 'write', 'write', 'read', true, false),
  admin: row('apply', 'write', 'write', 'read', true, true),
  custom: row('read', 'none', 'none', 'none', false, false),
};
/** A value of every attribute that no fixed level has in this combination. */
const OWN = row('plan', 'none', 'read-outputs', 'read', true, false);

function row(runs: string, variables: string, state: string, mocks: string, locking: boolean, tasks: boolean): Values {
  return {
    runs,
    variables,
    'state-versions': state,
    'policy-mocks': mocks,
    'workspace-locking': locking,
    'run-tasks': tasks,
  };
}

describe('POST /team-workspaces', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);

  for (const level of ACCESS_LEVELS) {
    // Verifies [DOC-1] [DOC-2] [DOC-4] [DOC-6] [DOC-48] [DOC-49].
    test(`creates a row with the attributes of level ${level} [TEAM-8] [TEAM-10] [TEAM-52]`, async () => {
      const { company, owner } = setUp();
      const body = rowBody(company.teams.visible, company.workspaces.other, { access: level });
      const answer = await request(api(), owner, 'POST', '/team-workspaces', { body });
      const { data } = documentOf(answer);
      assert.deepEqual([answer.status, data.type], [200, 'team-workspaces']);
      assert.match(data.id, /^tws-[A-Za-z0-9]{16}$/);
      assert.deepEqual(data.attributes, { access: level, ...SHOWN[level] });
      assert.deepEqual(data.relationships, {
        team: {
          data: { id: company.teams.visible, type: 'teams' },
          links: { related: `/api/v2/teams/${company.teams.visible}` },
        },
        workspace: {
          data: { id: company.workspaces.other, type: 'workspaces' },
          links: { related: '/api/v2/organizations/acme/workspaces/other' },
        },
      });
      assert.equal(answer.headers['content-type'], 'application/vnd.api+json; charset=utf-8');
      const read = await request(api(), owner, 'GET', `/team-workspaces/${data.id}`);
      assert.equal(read.text, answer.text);
      assert.deepEqual(statusAndText(await request(api(), owner, 'DELETE', `/team-workspaces/${data.id}`)), [204, '']);
    });
  }

  test('creates a custom row with the sent attributes and the lowest value for the others [TEAM-8] [TEAM-16]', async () => {
    const { company, owner } = setUp();
    for (const [name, value] of Object.entries(OWN)) {
      const attributes = { access: 'custom', [name]: value, 'run-tasks': null, 'plan-outputs': true };
      const body = rowBody(company.teams.visible, company.workspaces.other, attributes);
      const { data } = documentOf(await request(api(), owner, 'POST', '/team-workspaces', { body }));
      assert.deepEqual(data.attributes, {
        access: 'custom',
        ...SHOWN.custom,
        ...(name !== 'run-tasks' && { [name]: value }),
      });
      await request(api(), owner, 'DELETE', `/team-workspaces/${data.id}`);
    }
  });
});

describe('PATCH /team-workspaces/:id', () => {
  // The fake clock does not advance, because background jobs and repeated uses of a token would add commits.
  const api = sharedApi({ clock: createFakeClock() });
  const setUp = sharedCompany(api);

  for (const from of ACCESS_LEVELS) {
    for (const to of [...ACCESS_LEVELS, undefined]) {
      for (const given of [{}, { variables: 'write' }, OWN] as const) {
        const level = to ?? from;
        const refused = level !== 'custom' && Object.keys(given).length > 0;
        const change = `an update from ${from} to ${to ?? 'no other level'} and ${Object.keys(given).length} attributes`;
        test(`${refused ? 'rejects' : 'applies'} ${change} [TEAM-11 to TEAM-14]`, async () => {
          const { company, owner } = setUp();
          const stored = from === 'custom' ? createAccess(from, { runs: 'apply' }) : createAccess(from, {});
          const { teams, workspaces } = company;
          const id = await api().state.write((tx) => putTeamWorkspace(tx, teams.idle, workspaces.other, stored));
          const start = { ...SHOWN[from], ...(from === 'custom' && { runs: 'apply' }) };
          const body = resource('team-workspaces', { ...(to !== undefined && { access: to }), ...given });
          const answer = await request(api(), owner, 'PATCH', `/team-workspaces/${id}`, { body });
          const { attributes } = documentOf(await request(api(), owner, 'GET', `/team-workspaces/${id}`)).data;
          if (refused) {
            assert.equal(answer.status, 422);
            assert.deepEqual(attributes, { access: from, ...start });
          } else {
            assert.equal(answer.status, 200, answer.text);
            const expected = level === 'custom' ? { ...start, ...given } : SHOWN[level];
            assert.deepEqual(attributes, { access: level, ...expected });
            assert.deepEqual(documentOf(answer).data.attributes, attributes);
          }
          await request(api(), owner, 'DELETE', `/team-workspaces/${id}`);
        });
      }
    }
  }

  test('makes no commit when the body has no attributes or only nulls [TEAM-15]', async () => {
    const { company, owner } = setUp();
    await api().usesWritten();
    const { snapshot } = api().state;
    for (const data of [{}, { attributes: {} }, { attributes: { runs: null } }, { type: 'team-workspaces' }]) {
      const answer = await request(api(), owner, 'PATCH', `/team-workspaces/${company.rows.visible}`, {
        body: { data },
      });
      assert.deepEqual(documentOf(answer).data.attributes, { access: 'write', ...SHOWN.write });
    }
    assert.equal(api().state.snapshot, snapshot);
  });

  test('accepts relationships that name the same team and workspace [TEAM-47]', async () => {
    const { company, owner } = setUp();
    const body = rowBody(company.teams.visible, company.workspaces.main, { access: 'read' });
    const answer = await request(api(), owner, 'PATCH', `/team-workspaces/${company.rows.visible}`, { body });
    assert.equal(documentOf(answer).data.attributes['access'], 'read');
  });
});

describe('team access with compat = terraform', () => {
  const api = sharedApi({ terraform: true });
  const setUp = sharedCompany(api);
  const patch = async (attributes: Values) => {
    const { company, owner } = setUp();
    const body = resource('team-workspaces', attributes);
    return await request(api(), owner, 'PATCH', `/team-workspaces/${company.rows.visible}`, { body });
  };

  for (const [level, mocks, overrides] of [
    ['read', 'none', false],
    ['plan', 'none', false],
    ['write', 'read', false],
    ['admin', 'read', true],
  ] as const) {
    test(`returns sentinel-mocks and policy-overrides of level ${level} [TEAM-108]`, async () => {
      const { attributes } = documentOf(await patch({ access: level })).data;
      assert.deepEqual(
        [attributes['sentinel-mocks'], attributes['policy-mocks'], attributes['policy-overrides']],
        [mocks, mocks, overrides],
      );
    });
  }

  test('accepts both names of policy-mocks for custom [TEAM-109] [DOC-68]', async () => {
    await patch({ access: 'read' });
    const sent = { access: 'custom', 'sentinel-mocks': 'read', 'policy-overrides': true };
    const { attributes } = documentOf(await patch(sent)).data;
    assert.deepEqual(attributes, { ...SHOWN.read, ...sent, 'policy-mocks': 'read' });
    assert.equal(documentOf(await patch({ 'policy-mocks': 'none' })).data.attributes['sentinel-mocks'], 'none');
    const same = await patch({ 'policy-mocks': 'read', 'sentinel-mocks': 'read' });
    assert.equal(documentOf(same).data.attributes['policy-mocks'], 'read');
  });

  test('rejects two different values of policy-mocks, and attributes of a fixed level [TEAM-109]', async () => {
    await patch({ access: 'custom' });
    const different = await patch({ 'policy-mocks': 'read', 'sentinel-mocks': 'none' });
    assert.deepEqual(
      statusAndText(different),
      refusal('Sentinel mocks and policy-mocks must be the same when both are given'),
    );
    const fixed = await patch({ access: 'read', 'sentinel-mocks': 'none' });
    const why = "Sentinel mocks is read-only when access level is 'read'";
    assert.deepEqual(statusAndText(fixed), refusal(`${why}; use the 'custom' access level to set this attribute.`));
    assert.deepEqual(
      statusAndText(await patch({ 'sentinel-mocks': 'all' })),
      refusal('Sentinel mocks is not included in the list'),
    );
  });

  const refusal = (detail: string) => {
    const source = { pointer: '/data/attributes/sentinel-mocks' };
    return [422, JSON.stringify({ errors: [{ status: '422', title: 'invalid attribute', detail, source }] })];
  };
});
