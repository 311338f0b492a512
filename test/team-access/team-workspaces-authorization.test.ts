/**
 * Who may do what with team access: every kind of caller, each endpoint, rows of a visible and of a secret team. An
 * endpoint about rows or effective access that stands in no table fails the first test, so that none can be added
 * without its rules.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createdAccess } from '../../src/team-access/tables/access.ts';
import { type Api, startApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import {
  CALLERS,
  type CallerKind,
  type Company,
  makeCompany,
  NOBODIES,
  putRow,
  rowBody,
} from '../support/team-access/organizations.ts';
import { MEDIA_TYPE, NOT_FOUND, request, resource, seen } from '../support/team-access/team-access.ts';

const TEAMS = ['visible', 'secret'] as const;
type TeamKind = (typeof TEAMS)[number];

/** A request about a row of one of the teams, which succeeds for who may. */
interface Row {
  readonly endpoint: string;
  readonly path: (company: Company, team: TeamKind) => string;
  readonly body?: (company: Company, team: TeamKind) => unknown;
  /** The status of success; 200 unless given. */
  readonly status?: number;
  /** Who may, when the row is of the visible team, and when it is of the secret one. */
  readonly may: Readonly<Record<TeamKind, readonly CallerKind[]>>;
  /** Changes what is there: every caller gets a row of its own. */
  readonly writes?: true;
}

const ADMINS = ['owner', 'owners-team-token', 'organization-token', 'admin-by-row', 'admin-by-permission'] as const;
const OWNERS = ['owner', 'owners-team-token', 'organization-token'] as const;
const IN_SECRET = ['in-secret-team', 'secret-team-token'] as const;
const SEE_ROWS = {
  visible: [...ADMINS, 'in-visible-team'],
  secret: [...ADMINS, ...IN_SECRET],
} as const;
/** Who has access to the workspace `main` at all. */
const ON_MAIN = [...ADMINS, 'in-visible-team', ...IN_SECRET, 'reader'] as const;
const MEMBERS = [...ON_MAIN, 'member-without-row', 'member-without-team'] as const;
const rowPath = ({ rows }: Company, team: TeamKind) => `/team-workspaces/${rows[team]}`;

const table: readonly Row[] = [
  {
    endpoint: 'GET /api/v2/team-workspaces',
    path: ({ workspaces }) => `/team-workspaces?filter[workspace][id]=${workspaces.main}`,
    // What each sees in it is the matter of the lists' own tests.
    may: { visible: ON_MAIN, secret: ON_MAIN },
  },
  {
    endpoint: 'GET /api/v2/workspaces/:id/effective-access',
    path: ({ workspaces, teams }, team) =>
      `/workspaces/${workspaces.main}/effective-access?filter[team]=${teams[team]}`,
    may: SEE_ROWS,
  },
  {
    // Of somebody who is not there: nobody may learn more; the rest is the matter of its own tests.
    endpoint: 'GET /api/v2/users/:id/effective-access',
    path: ({ name }) => `/users/user-0000000000000000/effective-access?filter[organization]=${name}`,
    may: { visible: [], secret: [] },
  },
  {
    endpoint: 'GET /api/v2/organizations/:name/access-matrix',
    path: ({ name }) => `/organizations/${name}/access-matrix`,
    may: { visible: MEMBERS, secret: MEMBERS },
  },
  {
    endpoint: 'GET /api/v2/teams/:id/team-workspaces',
    path: ({ teams }, team) => `/teams/${teams[team]}/team-workspaces`,
    may: { visible: MEMBERS, secret: [...OWNERS, ...IN_SECRET] },
  },
  { endpoint: 'GET /api/v2/team-workspaces/:id', path: rowPath, may: SEE_ROWS },
  {
    endpoint: 'POST /api/v2/team-workspaces',
    path: () => '/team-workspaces',
    body: ({ teams, workspaces }, team) => rowBody(teams[team], workspaces.main, { access: 'read' }),
    may: { visible: ADMINS, secret: ADMINS },
    writes: true,
  },
  {
    endpoint: 'PATCH /api/v2/team-workspaces/:id',
    path: rowPath,
    body: () => resource('team-workspaces', { access: 'read' }),
    may: { visible: ADMINS, secret: ADMINS },
    writes: true,
  },
  {
    endpoint: 'DELETE /api/v2/team-workspaces/:id',
    path: rowPath,
    status: 204,
    may: { visible: ADMINS, secret: ADMINS },
    writes: true,
  },
];

let api: Api;
let company: Company;
let companies = 0;
before(async () => {
  api = await startApi({ rateLimit: 0 });
  company = await makeCompany(api.state, 'acme');
});
after(() => api[Symbol.asyncDispose]());

const ask = (kind: CallerKind, row: Row, of: Company, team: TeamKind): Promise<Answer> => {
  const [method = ''] = row.endpoint.split(' ');
  return request(api, of.tokens[kind], method, row.path(of, team), { body: row.body?.(of, team) });
};

/** For a write a company of its own, whose pair is free where it is made. */
async function companyFor({ writes, endpoint }: Row, team: TeamKind): Promise<Company> {
  if (writes !== true) return company;
  companies += 1;
  const own = await makeCompany(api.state, `company-${companies}`);
  if (!endpoint.startsWith('POST')) return own;
  // Only who sees rows by being in the team would lose its access: it may not write anyway.
  const removed = await request(api, own.tokens.owner, 'DELETE', `/team-workspaces/${own.rows[team]}`);
  assert.equal(removed.status, 204);
  return own;
}

test('every endpoint about access has its line, and no line is left over', () => {
  const served = api.server.endpoints
    .filter(
      ({ path }) => path.startsWith('/api/v2/') && /\/(team-workspaces|effective-access|access-matrix)\b/.test(path),
    )
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(table.map(({ endpoint }) => endpoint).toSorted(), served.toSorted());
});

describe('row by row:', () => {
  for (const row of table) {
    for (const team of TEAMS) {
      test(`${row.endpoint} of the ${team} team`, async () => {
        for (const kind of CALLERS) {
          const of = await companyFor(row, team);
          const answer = await ask(kind, row, of, team);
          if (row.may[team].some((one) => one === kind)) {
            assert.equal(answer.status, row.status ?? 200, `${kind}: ${answer.text}`);
          } else {
            assert.deepEqual(seen(answer), NOT_FOUND, kind);
          }
        }
        for (const kind of NOBODIES) {
          const answer = await ask(kind, row, company, team);
          assert.deepEqual(seen(answer), [401, '{"errors":[{"status":"401","title":"unauthorized"}]}'], kind);
        }
      });
    }
  }
});

/** What differs between any two answers. */
const UNLIKE = ['date', 'x-request-id'];

const told = ({ status, text, headers }: Answer) => {
  const same = Object.entries(headers).filter(([name]) => !UNLIKE.includes(name));
  return { status, text, headers: Object.fromEntries(same) };
};

describe('what may not be known', () => {
  test('is answered byte by byte as what is not there, headers included', async () => {
    const nothing = told(await request(api, company.tokens.owner, 'GET', '/nothing-at-all'));
    assert.equal(nothing.status, 404);
    const hidden = await makeCompany(api.state, 'hidden-one');
    const body = { body: resource('team-workspaces', { access: 'read' }) };
    const make = (team: string, workspace: string) => ({ body: rowBody(team, workspace, { access: 'read' }) });
    const { teams, workspaces, rows } = company;
    const NO = '0000000000000000';
    for (const kind of CALLERS) {
      if (kind === 'owner-elsewhere') continue;
      for (const [method, path, sent] of [
        ['GET', `/team-workspaces/tws-${NO}`, {}],
        ['GET', `/team-workspaces/${hidden.rows.visible}`, {}],
        ['GET', `/team-workspaces?filter[workspace][id]=ws-${NO}`, {}],
        ['GET', `/team-workspaces?filter[workspace][id]=${hidden.workspaces.main}`, {}],
        ['GET', `/teams/team-${NO}/team-workspaces`, {}],
        ['GET', `/teams/${hidden.teams.visible}/team-workspaces`, {}],
        ['PATCH', `/team-workspaces/tws-${NO}`, body],
        ['PATCH', `/team-workspaces/${hidden.rows.visible}`, body],
        ['DELETE', `/team-workspaces/tws-${NO}`, {}],
        ['DELETE', `/team-workspaces/${hidden.rows.visible}`, {}],
        ['POST', '/team-workspaces', make(teams.idle, `ws-${NO}`)],
        ['POST', '/team-workspaces', make(teams.idle, hidden.workspaces.main)],
        ['POST', '/team-workspaces', make(`team-${NO}`, workspaces.main)],
        ['POST', '/team-workspaces', make(hidden.teams.visible, workspaces.main)],
      ] as const) {
        assert.deepEqual(
          told(await request(api, company.tokens[kind], method, path, sent)),
          nothing,
          `${kind} ${path}`,
        );
      }
    }
    // Of what a member may not see in its own organization likewise.
    for (const [method, path, sent] of [
      ['GET', `/team-workspaces/${rows.secret}`, {}],
      ['PATCH', `/team-workspaces/${rows.secret}`, body],
      ['PATCH', `/team-workspaces/${rows.visible}`, { body: resource('team-workspaces', { access: 'nonsense' }) }],
      ['DELETE', `/team-workspaces/${rows.visible}`, { headers: { 'if-match': '"x"', 'content-type': MEDIA_TYPE } }],
      ['POST', '/team-workspaces', { body: rowBody(teams.visible, workspaces.main, { access: 'nonsense' }) }],
      ['POST', '/team-workspaces', { body: rowBody(teams.owners, workspaces.main, { access: 'read' }) }],
      ['GET', `/team-workspaces?filter[workspace][id]=${workspaces.other}`, {}],
    ] as const) {
      const answer = await request(api, company.tokens['in-visible-team'], method, path, sent);
      assert.deepEqual(told(answer), nothing, `${method} ${path}`);
    }
  });

  test('becomes known with access, and unknown without', async () => {
    const own = await makeCompany(api.state, 'coming-and-going');
    const path = `/team-workspaces?filter[workspace][id]=${own.workspaces.other}`;
    const token = own.tokens['in-secret-team'];
    assert.deepEqual(seen(await request(api, token, 'GET', path)), NOT_FOUND);
    const access = createdAccess('custom', {});
    const id = await api.state.write((tx) => putRow(tx, own.teams.secret, own.workspaces.other, access));
    assert.equal((await request(api, token, 'GET', path)).status, 200);
    await request(api, own.tokens.owner, 'DELETE', `/team-workspaces/${id}`);
    assert.deepEqual(seen(await request(api, token, 'GET', path)), NOT_FOUND);
  });
});

test('If-Match is held against the row that changes, and refused where a row is made', async () => {
  const { tokens, rows, teams, workspaces } = company;
  const headers = { 'if-match': '"never"' };
  const ask = (method: string, path: string, body?: unknown) =>
    request(api, tokens.owner, method, path, { headers, ...(body !== undefined && { body }) });
  const path = `/team-workspaces/${rows.visible}`;
  assert.equal((await ask('PATCH', path, resource('team-workspaces', {}))).status, 412);
  assert.equal((await ask('DELETE', path)).status, 412);
  const made = await ask('POST', '/team-workspaces', rowBody(teams.idle, workspaces.main, { access: 'read' }));
  assert.equal(made.status, 400);
});
