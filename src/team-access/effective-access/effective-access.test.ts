import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import {
  CALLERS,
  type CallerKind,
  makeCompany,
  putTeam,
  putTeamWorkspace,
  sharedCompany,
  UNAUTHENTICATED,
} from '../../../test/support/team-access/organizations.ts';
import {
  documentOf,
  errorsOf,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teamMembers } from '../tables/team.ts';
import { createAccess } from '../tables/team-workspace.ts';

interface Explanation {
  readonly attribute: string;
  readonly value: unknown;
  readonly sources: readonly unknown[];
}

describe('effective-access endpoints', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);
  const ask = (caller: CallerKind, query = '') => {
    const { tokens, workspaces } = setUp().company;
    return request(api(), tokens[caller], 'GET', `/workspaces/${workspaces.main}/effective-access${query}`);
  };
  const explained = async (caller: CallerKind, query = '') => {
    const { attributes } = documentOf(await ask(caller, query)).data;
    return { ...attributes, explanation: attributes['explanation'] as readonly Explanation[] } as Readonly<
      Record<string, unknown>
    > & { readonly explanation: readonly Explanation[] };
  };
  /** Returns the ID of the only member of the visible team. */
  const memberId = () => {
    const [member] = api().state.snapshot.list(teamMembers, 'team', setUp().company.teams.visible);
    return member?.row.userId ?? assert.fail('the team has no member');
  };

  test('return the access of the caller with its sources [AUTHZ-30] [AUTHZ-32] [AUTHZ-34]', async () => {
    const { teams, rows, id } = setUp().company;
    const own = await explained('in-visible-team');
    assert.deepEqual([own['access'], own['runs'], own['run-tasks']], ['write', 'apply', false]);
    for (const { attribute, value, sources } of own.explanation) {
      assert.equal(value, own[attribute]);
      assert.deepEqual(sources, [{ kind: 'team-workspace', team: teams.visible, id: rows.visible }]);
    }
    assert.equal(own.explanation.length, 6);
    for (const [caller, source] of [
      ['owner', { kind: 'owner', team: teams.owners }],
      ['owners-team-token', { kind: 'owner', team: teams.owners }],
      ['organization-token', { kind: 'owner' }],
      [
        'admin-by-permission',
        { kind: 'organization-permission', team: teams.managers, permission: 'manage-workspaces' },
      ],
      ['admin-by-row', { kind: 'team-workspace', team: teams.admins, id: rows.admins }],
    ] as const) {
      const { access, explanation } = await explained(caller);
      assert.equal(access, 'admin', `${caller} of ${id}`);
      assert.deepEqual(explanation[0], { attribute: 'admin', value: true, sources: [source] });
    }
  });

  test('return a document about one subject and one workspace [DOC-66]', async () => {
    const { teams, workspaces } = setUp().company;
    for (const [caller, query, subject] of [
      ['in-visible-team', '', { id: memberId(), type: 'users' }],
      ['owner', `?filter[team]=${teams.secret}`, { id: teams.secret, type: 'teams' }],
      ['organization-token', '', { id: 'acme', type: 'organizations' }],
    ] as const) {
      const { id, type, attributes, relationships } = documentOf(await ask(caller, query)).data;
      assert.deepEqual([id, type], [`${workspaces.main}/${subject.id}`, 'effective-access']);
      assert.deepEqual(relationships, {
        workspace: { data: { id: workspaces.main, type: 'workspaces' } },
        subject: { data: subject },
      });
      assert.deepEqual(Object.keys(attributes).toSorted(), [
        ...['access', 'explanation', 'policy-mocks', 'run-tasks'],
        ...['runs', 'state-versions', 'variables', 'workspace-locking'],
      ]);
    }
  });

  test('return the access of a team to its members and to workspace admins [AUTHZ-31] [AUTHZ-33]', async () => {
    const { teams, rows } = setUp().company;
    const secret = `?filter[team]=${teams.secret}`;
    for (const caller of ['owner', 'admin-by-row', 'in-secret-team', 'secret-team-token'] as const) {
      const { access, explanation } = await explained(caller, secret);
      assert.equal(access, 'plan');
      assert.deepEqual(explanation[0]?.sources, [{ kind: 'team-workspace', team: teams.secret, id: rows.secret }]);
    }
    for (const caller of ['in-visible-team', 'reader', 'outsider'] as const) {
      assert.deepEqual(statusAndText(await ask(caller, secret)), NOT_FOUND);
      assert.deepEqual(statusAndText(await ask(caller, '?filter[team]=team-0000000000000000')), NOT_FOUND);
    }
    assert.deepEqual(await explained('owner', `?filter[team]=${teams.idle}`), { access: null, explanation: [] });
  });

  test('return the access of another user to owners, by ID and by username [AUTHZ-33]', async () => {
    const user = memberId();
    for (const named of [user, 'ACME-visible']) {
      assert.equal((await explained('owner', `?filter[user]=${named}`))['access'], 'write');
      assert.equal((await explained('in-visible-team', `?filter[user]=${named}`))['access'], 'write');
      for (const caller of CALLERS.filter((one) => !/owner|organization|in-visible-team/.test(one))) {
        assert.deepEqual(statusAndText(await ask(caller, `?filter[user]=${named}`)), NOT_FOUND, caller);
      }
    }
    for (const stranger of ['user-0000000000000000', 'acme-outsider', 'acme-stranger']) {
      assert.deepEqual(statusAndText(await ask('owner', `?filter[user]=${stranger}`)), NOT_FOUND);
    }
  });

  test('return the highest value of each attribute over all teams [AUTHZ-28]', async () => {
    const { company } = setUp();
    const user = memberId();
    const { teams, workspaces } = company;
    const custom = createAccess('custom', { 'run-tasks': true, runs: 'apply' });
    const row = await api().state.write((tx) => {
      const [membership] = tx.list(memberships, 'user', user);
      tx.put(teamMembers, { teamId: teams.hidden, userId: user, membershipId: membership?.row.id ?? '' });
      return putTeamWorkspace(tx, teams.hidden, workspaces.main, custom);
    });
    const both = await explained('in-visible-team');
    assert.deepEqual([both['access'], both['variables'], both['run-tasks']], ['custom', 'write', true]);
    const sourcesOf = (name: string) =>
      both.explanation
        .find(({ attribute }) => attribute === name)
        ?.sources.map((source) => (source as { id: string }).id);
    assert.deepEqual(sourcesOf('run-tasks'), [row]);
    assert.deepEqual(sourcesOf('variables'), [company.rows.visible]);
    assert.deepEqual(new Set(sourcesOf('runs')), new Set([row, company.rows.visible]));
  });

  test('list all accessible workspaces of a user to themselves and to owners [AUTHZ-36] [DOC-3]', async () => {
    const { tokens, workspaces } = setUp().company;
    const list = (caller: CallerKind, query: string) =>
      request(api(), tokens[caller], 'GET', `/users/${memberId()}/effective-access?${query}`);
    for (const caller of ['owner', 'organization-token', 'in-visible-team'] as const) {
      const { data, meta } = documentOf<ResourceObject[]>(await list(caller, 'filter[organization]=ACME'));
      assert.deepEqual(
        data.map(({ relationships }) => relationships['workspace']?.data),
        [{ id: workspaces.main, type: 'workspaces' }],
      );
      assert.equal(meta?.pagination['total-count'], 1);
      const one = await ask(caller, `?filter[user]=${memberId()}`);
      assert.deepEqual(data[0], documentOf(one).data);
    }
    for (const caller of ['admin-by-permission', 'in-secret-team', 'outsider', 'site-admin'] as const) {
      assert.deepEqual(statusAndText(await list(caller, 'filter[organization]=acme')), NOT_FOUND);
    }
    assert.deepEqual(statusAndText(await list('owner', 'filter[organization]=nowhere')), NOT_FOUND);
    const missing = await list('owner', 'page[size]=0');
    assert.deepEqual(
      errorsOf(missing).map(({ source }) => source),
      [{ parameter: 'filter[organization]' }, { parameter: 'page[size]' }],
    );
  });

  test('return 422 to a user and a team filter together [AUTHZ-32]', async () => {
    for (const caller of ['owner', 'outsider'] as const) {
      const answer = await ask(caller, '?filter[user]=a&filter[team]=b');
      assert.equal(answer.status, 422);
      assert.deepEqual(errorsOf(answer)[0]?.['source'], { parameter: 'filter[team]' });
    }
  });

  test('answer with the plan free, but not about teams [AUTHZ-33]', async () => {
    const { tokens, workspaces, teams } = await makeCompany(api().state, 'small', 'free');
    const path = `/workspaces/${workspaces.main}/effective-access`;
    const own = await request(api(), tokens['in-visible-team'], 'GET', path);
    assert.equal(documentOf(own).data.attributes['access'], 'write');
    assert.deepEqual(
      statusAndText(await request(api(), tokens.owner, 'GET', `${path}?filter[team]=${teams.visible}`)),
      NOT_FOUND,
    );
  });
});

describe('GET /organizations/:name/access-matrix', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);
  const matrix = async (caller: CallerKind, query = '') => {
    const { tokens } = setUp().company;
    return await request(api(), tokens[caller], 'GET', `/organizations/acme/access-matrix${query}`);
  };
  const cells = async (caller: CallerKind) =>
    documentOf<ResourceObject[]>(await matrix(caller)).data.map(({ id, attributes }) => {
      const teams = attributes['teams'] as readonly { readonly team: string; readonly access: string }[];
      return [id, Object.fromEntries(teams.map(({ team, access }) => [team, access]))];
    });

  test('returns the teams of each workspace that the caller may see [AUTHZ-30] [AUTHZ-38] [DOC-67]', async () => {
    const { teams, workspaces } = setUp().company;
    // A row reveals a secret team to callers who can see the row. The secret team `owners` has no row.
    const known = { [teams.managers]: 'admin', [teams.readers]: 'read' };
    const rows = { [teams.visible]: 'write', [teams.secret]: 'plan', [teams.admins]: 'admin' };
    const all = { [teams.owners]: 'admin', ...known };
    const ofOwner = [
      [workspaces.main, { ...all, ...rows }],
      [workspaces.other, all],
    ];
    const ofAdmin = [
      [workspaces.main, { ...known, ...rows }],
      [workspaces.other, known],
    ];
    const ofSecret = [[workspaces.main, { [teams.secret]: 'plan' }]];
    const expected: Readonly<Record<(typeof CALLERS)[number], unknown>> = {
      owner: ofOwner,
      'owners-team-token': ofOwner,
      'organization-token': ofOwner,
      'admin-by-permission': ofAdmin,
      'admin-by-row': ofAdmin.slice(0, 1),
      'in-visible-team': [[workspaces.main, { [teams.visible]: 'write' }]],
      'in-secret-team': ofSecret,
      'secret-team-token': ofSecret,
      reader: ofAdmin.map(([workspace]) => [workspace, { [teams.readers]: 'read' }]),
      'member-without-row': [],
      'member-without-team': [],
      outsider: NOT_FOUND,
      'owner-elsewhere': NOT_FOUND,
      'site-admin': NOT_FOUND,
    };
    for (const caller of CALLERS) {
      const answer = await matrix(caller);
      assert.deepEqual(answer.status === 200 ? await cells(caller) : statusAndText(answer), expected[caller], caller);
    }
    for (const nobody of UNAUTHENTICATED) assert.equal((await matrix(nobody)).status, 401, nobody);
  });

  test('omits a secret team without a row even if it has access to all workspaces [AUTHZ-38]', async () => {
    const company = await makeCompany(api().state, 'discreet');
    const secret = await api().state.write((tx) => putTeam(tx, company.id, 'sec', 'secret', ['read-workspaces']));
    const text = async (caller: CallerKind): Promise<string> =>
      (await request(api(), company.tokens[caller], 'GET', `/organizations/${company.name}/access-matrix`)).text;
    assert.ok((await text('owner')).includes(secret));
    for (const caller of ['admin-by-row', 'admin-by-permission', 'reader'] as const) {
      assert.ok(!(await text(caller)).includes(secret), caller);
    }
    await api().state.write((tx) => putTeamWorkspace(tx, secret, company.workspaces.main, createAccess('read', {})));
    assert.ok((await text('admin-by-row')).includes(secret));
  });

  test('contains the expiry time of rows in sources [AUTHZ-35]', async () => {
    const company = await makeCompany(api().state, 'ending');
    const end = '2100-01-01T00:00:00.000Z';
    const row = `/team-workspaces/${company.rows.visible}`;
    const body = resource('team-workspaces', { 'expires-at': end });
    assert.equal((await request(api(), company.tokens.owner, 'PATCH', row, { body })).status, 200);
    const source = { kind: 'team-workspace', team: company.teams.visible, id: company.rows.visible, 'expires-at': end };
    const member = company.tokens['in-visible-team'];
    const read = async <Data>(path: string) => documentOf<Data>(await request(api(), member, 'GET', path)).data;
    const { id } = await read<ResourceObject>('/account/details');
    const [line] = await read<ResourceObject[]>(`/organizations/${company.name}/access-matrix`);
    assert.deepEqual(line?.attributes['teams'], [{ team: company.teams.visible, access: 'write', sources: [source] }]);
    const one = await read<ResourceObject>(`/workspaces/${company.workspaces.main}/effective-access`);
    const [listed] = await read<ResourceObject[]>(`/users/${id}/effective-access?filter[organization]=${company.name}`);
    for (const { attributes } of [one, listed ?? assert.fail('nothing is listed')]) {
      for (const { sources } of attributes['explanation'] as readonly Explanation[])
        assert.deepEqual(sources, [source]);
    }
  });

  test('returns pages with the sources of access [AUTHZ-37] [DOC-67]', async () => {
    const { teams, rows } = setUp().company;
    const { data, meta } = documentOf<ResourceObject[]>(await matrix('in-visible-team', '?page[size]=1'));
    const source = { kind: 'team-workspace', team: teams.visible, id: rows.visible };
    assert.deepEqual(data[0]?.attributes['teams'], [{ team: teams.visible, access: 'write', sources: [source] }]);
    assert.equal(meta?.pagination['total-pages'], 1);
    assert.equal(
      documentOf<ResourceObject[]>(await matrix('owner', '?page[size]=1')).meta?.pagination['total-pages'],
      2,
    );
  });

  test('returns 404 with the plan free [AUTHZ-18]', async () => {
    const { tokens, name } = await makeCompany(api().state, 'tiny', 'free');
    assert.deepEqual(
      statusAndText(await request(api(), tokens.owner, 'GET', `/organizations/${name}/access-matrix`)),
      NOT_FOUND,
    );
  });
});
