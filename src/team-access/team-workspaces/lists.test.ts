import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import {
  type CallerKind,
  makeCompany,
  putTeamWorkspace,
  rowBody,
  sharedCompany,
} from '../../../test/support/team-access/organizations.ts';
import {
  documentOf,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';
import { createAccess } from '../tables/team-workspace.ts';

const ids = (data: readonly ResourceObject[]): readonly string[] => data.map(({ id }) => id);

describe('GET /team-workspaces', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);
  const list = async (caller: CallerKind, query = '') => {
    const { company } = setUp();
    const path = `/team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${company.workspaces.main}${query}`;
    return await request(api(), company.tokens[caller], 'GET', path);
  };

  test('returns all rows in order of creation, with data alone, without page parameters [TEAM-51]', async () => {
    const { company } = setUp();
    const { rows } = company;
    const document = documentOf<ResourceObject[]>(await list('owner'));
    assert.deepEqual(Object.keys(document), ['data']);
    assert.deepEqual(ids(document.data), [rows.visible, rows.secret, rows.admins]);
    const one = documentOf(await request(api(), company.tokens.owner, 'GET', `/team-workspaces/${rows.secret}`));
    assert.deepEqual(document.data[1], one.data);
  });

  test('returns a page when a page parameter is present [TEAM-51] [DOC-24] [DOC-25]', async () => {
    const { company } = setUp();
    const { rows, workspaces } = company;
    const { data, links, meta } = documentOf<ResourceObject[]>(
      await list('owner', '&page[size]=2&page[number]=2&include=team'),
    );
    assert.deepEqual(ids(data), [rows.admins]);
    const page = (number: number) =>
      [
        `${api().address}/api/v2/team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${workspaces.main}`,
        `&page%5Bsize%5D=2&page%5Bnumber%5D=${number}&include=team`,
      ].join('');
    assert.deepEqual(links, { self: page(2), first: page(1), prev: page(1), next: null, last: page(2) });
    assert.deepEqual(meta?.pagination, {
      'current-page': 2,
      'page-size': 2,
      'prev-page': 1,
      'next-page': null,
      'total-pages': 2,
      'total-count': 3,
    });
  });

  test('returns pages of 20 rows by default, and an empty page after the last [DOC-22, DOC-26]', async () => {
    const first = documentOf<ResourceObject[]>(await list('owner', '&page[number]=1'));
    assert.deepEqual([first.data.length, first.meta?.pagination['page-size']], [3, 20]);
    const past = documentOf<ResourceObject[]>(await list('owner', '&page[number]=9'));
    assert.deepEqual(past.data, []);
    const { pagination } = past.meta ?? {};
    assert.deepEqual(
      [pagination?.['current-page'], pagination?.['prev-page'], pagination?.['next-page'], pagination?.['total-pages']],
      [9, 1, null, 1],
    );
  });

  test('returns and counts only rows that the caller can see [AUTHZ-22] [DOC-25]', async () => {
    const { rows } = setUp().company;
    for (const [caller, seenRows] of [
      ['in-visible-team', [rows.visible]],
      ['in-secret-team', [rows.secret]],
      ['secret-team-token', [rows.secret]],
      ['reader', []],
      ['admin-by-row', [rows.visible, rows.secret, rows.admins]],
      ['admin-by-permission', [rows.visible, rows.secret, rows.admins]],
    ] as const) {
      const { data, meta } = documentOf<ResourceObject[]>(await list(caller, '&page[size]=1'));
      assert.deepEqual([data.length, meta?.pagination['total-count']], [Math.min(1, seenRows.length), seenRows.length]);
      assert.deepEqual(ids(documentOf<ResourceObject[]>(await list(caller)).data), seenRows);
    }
  });

  test('returns an empty list for a team whose rows are hidden or missing [TEAM-50]', async () => {
    const { rows, teams } = setUp().company;
    const of = async (caller: CallerKind, team: string) =>
      ids(documentOf<ResourceObject[]>(await list(caller, `&filter[team][id]=${team}`)).data);
    assert.deepEqual(await of('owner', teams.secret), [rows.secret]);
    assert.deepEqual(await of('owner', teams.idle), []);
    assert.deepEqual(await of('in-visible-team', teams.visible), [rows.visible]);
    assert.deepEqual(await of('in-visible-team', teams.secret), []);
    assert.deepEqual(await of('in-visible-team', 'team-0000000000000000'), []);
  });

  test('includes only teams and workspaces that the caller may read [DOC-31] [TEAM-55]', async () => {
    const { company } = setUp();
    const { teams, workspaces } = company;
    const included = async (caller: CallerKind, include: string) => {
      const document = documentOf<ResourceObject[]>(await list(caller, `&include=${include}`));
      return document.included?.map(({ id }) => id);
    };
    assert.deepEqual(await included('owner', 'team,workspace'), [
      ...[teams.visible, teams.secret, teams.admins],
      workspaces.main,
    ]);
    // A workspace admin sees the ID of a secret team, but not the team [AUTHZ-41].
    assert.deepEqual(await included('admin-by-row', 'team'), [teams.visible, teams.admins]);
    assert.deepEqual(await included('in-secret-team', 'team'), [teams.secret]);
    assert.deepEqual(await included('reader', 'team,workspace'), []);
    const path = `/team-workspaces/${company.rows.visible}?include=workspace`;
    const one = documentOf(await request(api(), company.tokens['in-visible-team'], 'GET', path));
    const itself = await request(api(), company.tokens['in-visible-team'], 'GET', `/workspaces/${workspaces.main}`);
    assert.deepEqual(one.included, [documentOf(itself).data]);
  });

  test('returns 304 when If-None-Match has the current tag [DOC-17]', async () => {
    const { company, owner } = setUp();
    for (const path of [
      `/team-workspaces?filter[workspace][id]=${company.workspaces.main}`,
      `/team-workspaces/${company.rows.visible}`,
      `/teams/${company.teams.visible}/team-workspaces`,
    ]) {
      const { headers } = await request(api(), owner, 'GET', path);
      const known = { 'if-none-match': headers.etag ?? '' };
      assert.deepEqual(statusAndText(await request(api(), owner, 'GET', path, { headers: known })), [304, '']);
    }
  });
});

describe('GET /teams/:id/team-workspaces', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);
  const list = async (caller: CallerKind, team: string, query = '') =>
    await request(api(), setUp().company.tokens[caller], 'GET', `/teams/${team}/team-workspaces${query}`);

  test('returns all rows to members and owners, and rows of administered workspaces to others [AUTHZ-26]', async () => {
    const { company } = setUp();
    const { rows, teams, workspaces } = company;
    const other = await api().state.write((tx) =>
      putTeamWorkspace(tx, teams.visible, workspaces.other, createAccess('read', {})),
    );
    for (const [caller, seenRows] of [
      ['owner', [rows.visible, other]],
      ['in-visible-team', [rows.visible, other]],
      ['admin-by-permission', [rows.visible, other]],
      ['admin-by-row', [rows.visible]],
      ['reader', []],
      ['member-without-team', []],
    ] as const) {
      const { data, meta } = documentOf<ResourceObject[]>(await list(caller, teams.visible));
      assert.deepEqual(ids(data), seenRows);
      assert.equal(meta?.pagination['total-count'], seenRows.length);
    }
    const { data, included, links } = documentOf<ResourceObject[]>(
      await list('owner', teams.visible, '?page[size]=1&include=workspace'),
    );
    assert.deepEqual([ids(data), included?.map(({ id }) => id)], [[rows.visible], [workspaces.main]]);
    assert.match(links?.['next'] ?? '', /team-workspaces\?page%5Bsize%5D=1&include=workspace&page%5Bnumber%5D=2$/);
  });

  test('returns 404 when the caller cannot see the team [AUTHZ-40]', async () => {
    const { teams } = setUp().company;
    for (const caller of ['in-visible-team', 'admin-by-row', 'outsider'] as const) {
      assert.deepEqual(statusAndText(await list(caller, teams.secret)), NOT_FOUND);
    }
    assert.equal((await list('in-secret-team', teams.secret)).status, 200);
  });
});

describe('team-workspaces endpoints with the plan free', () => {
  const api = sharedApi();

  test('return 404, while the rows still grant access [AUTHZ-18]', async () => {
    const { tokens, teams, workspaces, rows } = await makeCompany(api().state, 'small', 'free');
    const attributes = { access: 'read' };
    for (const [method, path, body] of [
      ['GET', `/team-workspaces?filter[workspace][id]=${workspaces.main}`, undefined],
      ['GET', `/team-workspaces/${rows.visible}`, undefined],
      ['GET', `/teams/${teams.visible}/team-workspaces`, undefined],
      ['POST', '/team-workspaces', rowBody(teams.idle, workspaces.main, attributes)],
      ['PATCH', `/team-workspaces/${rows.visible}`, resource('team-workspaces', attributes)],
      ['DELETE', `/team-workspaces/${rows.visible}`, undefined],
    ] as const) {
      assert.deepEqual(
        statusAndText(await request(api(), tokens.owner, method, path, { body })),
        NOT_FOUND,
        `${method} ${path}`,
      );
    }
    const workspace = await request(api(), tokens['in-visible-team'], 'GET', `/workspaces/${workspaces.main}`);
    assert.equal(workspace.status, 200);
  });
});
