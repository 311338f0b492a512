/**
 * Sends a request to every endpoint about rows and effective access as every kind of caller, for a visible and a secret
 * team [AUTHZ-84]. An endpoint that the table lacks fails the first test.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAccess } from '../../src/team-access/tables/team-workspace.ts';
import { type Api, startApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import {
  CALLERS,
  type CallerKind,
  type Company,
  makeCompany,
  putTeamWorkspace,
  rowBody,
  UNAUTHENTICATED,
} from '../support/team-access/organizations.ts';
import { MEDIA_TYPE, NOT_FOUND, request, resource, statusAndText } from '../support/team-access/team-access.ts';

const TEAMS = ['visible', 'secret'] as const;
type TeamKind = (typeof TEAMS)[number];

/** A request about a row of one of the teams. */
interface RowEndpoint {
  readonly endpoint: string;
  readonly path: (company: Company, team: TeamKind) => string;
  readonly body?: (company: Company, team: TeamKind) => unknown;
  /** The status for allowed callers, 200 by default. All others get 404. */
  readonly status?: number;
  /** The allowed callers, for a row of the visible and of the secret team. */
  readonly allowed: Readonly<Record<TeamKind, readonly CallerKind[]>>;
  /** Whether the request changes the row, so that each caller needs a company of its own. */
  readonly writes?: true;
}

const ADMINS = ['owner', 'owners-team-token', 'organization-token', 'admin-by-row', 'admin-by-permission'] as const;
const OWNERS = ['owner', 'owners-team-token', 'organization-token'] as const;
const IN_SECRET = ['in-secret-team', 'secret-team-token'] as const;
const SEE_ROWS = {
  visible: [...ADMINS, 'in-visible-team'],
  secret: [...ADMINS, ...IN_SECRET],
} as const;
/** The callers with any access to the workspace `main`. */
const HAVE_ACCESS_TO_MAIN = [...ADMINS, 'in-visible-team', ...IN_SECRET, 'reader'] as const;
const MEMBERS = [...HAVE_ACCESS_TO_MAIN, 'member-without-row', 'member-without-team'] as const;
const rowPath = ({ rows }: Company, team: TeamKind) => `/team-workspaces/${rows[team]}`;

const table: readonly RowEndpoint[] = [
  {
    endpoint: 'GET /api/v2/team-workspaces',
    path: ({ workspaces }) => `/team-workspaces?filter[workspace][id]=${workspaces.main}`,
    // lists.test.ts checks the content.
    allowed: { visible: HAVE_ACCESS_TO_MAIN, secret: HAVE_ACCESS_TO_MAIN },
  },
  {
    endpoint: 'GET /api/v2/workspaces/:id/effective-access',
    path: ({ workspaces, teams }, team) =>
      `/workspaces/${workspaces.main}/effective-access?filter[team]=${teams[team]}`,
    allowed: SEE_ROWS,
  },
  {
    // A missing user. effective-access.test.ts checks existing ones.
    endpoint: 'GET /api/v2/users/:id/effective-access',
    path: ({ name }) => `/users/user-0000000000000000/effective-access?filter[organization]=${name}`,
    allowed: { visible: [], secret: [] },
  },
  {
    endpoint: 'GET /api/v2/organizations/:name/access-matrix',
    path: ({ name }) => `/organizations/${name}/access-matrix`,
    allowed: { visible: MEMBERS, secret: MEMBERS },
  },
  {
    endpoint: 'GET /api/v2/teams/:id/team-workspaces',
    path: ({ teams }, team) => `/teams/${teams[team]}/team-workspaces`,
    allowed: { visible: MEMBERS, secret: [...OWNERS, ...IN_SECRET] },
  },
  { endpoint: 'GET /api/v2/team-workspaces/:id', path: rowPath, allowed: SEE_ROWS },
  {
    endpoint: 'POST /api/v2/team-workspaces',
    path: () => '/team-workspaces',
    body: ({ teams, workspaces }, team) => rowBody(teams[team], workspaces.main, { access: 'read' }),
    allowed: { visible: ADMINS, secret: ADMINS },
    writes: true,
  },
  {
    endpoint: 'PATCH /api/v2/team-workspaces/:id',
    path: rowPath,
    body: () => resource('team-workspaces', { access: 'read' }),
    allowed: { visible: ADMINS, secret: ADMINS },
    writes: true,
  },
  {
    endpoint: 'DELETE /api/v2/team-workspaces/:id',
    path: rowPath,
    status: 204,
    allowed: { visible: ADMINS, secret: ADMINS },
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

const sendRowRequest = (kind: CallerKind, row: RowEndpoint, of: Company, team: TeamKind): Promise<Answer> => {
  const [method = ''] = row.endpoint.split(' ');
  return request(api, of.tokens[kind], method, row.path(of, team), { body: row.body?.(of, team) });
};

/** Returns the shared company for a read, and a new one for a write. A creation needs a pair without a row. */
async function companyFor({ writes, endpoint }: RowEndpoint, team: TeamKind): Promise<Company> {
  if (writes !== true) return company;
  companies += 1;
  const own = await makeCompany(api.state, `company-${companies}`);
  if (!endpoint.startsWith('POST')) return own;
  // Only members of the team lose access to the workspace, and they may not create rows anyway.
  const removed = await request(api, own.tokens.owner, 'DELETE', `/team-workspaces/${own.rows[team]}`);
  assert.equal(removed.status, 204);
  return own;
}

test('the table contains exactly the endpoints about rows and effective access', () => {
  const served = api.server.endpoints
    .filter(
      ({ path }) => path.startsWith('/api/v2/') && /\/(team-workspaces|effective-access|access-matrix)\b/.test(path),
    )
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(table.map(({ endpoint }) => endpoint).toSorted(), served.toSorted());
});

// Verifies [TEAM-48].
describe('the allowed callers [AUTHZ-19] [AUTHZ-23] [AUTHZ-24] of', () => {
  for (const row of table) {
    for (const team of TEAMS) {
      test(`${row.endpoint} of the ${team} team`, async () => {
        for (const kind of CALLERS) {
          const of = await companyFor(row, team);
          const answer = await sendRowRequest(kind, row, of, team);
          if (row.allowed[team].some((one) => one === kind)) {
            assert.equal(answer.status, row.status ?? 200, `${kind}: ${answer.text}`);
          } else {
            assert.deepEqual(statusAndText(answer), NOT_FOUND, kind);
          }
        }
        for (const kind of UNAUTHENTICATED) {
          const answer = await sendRowRequest(kind, row, company, team);
          assert.deepEqual(statusAndText(answer), [401, '{"errors":[{"status":"401","title":"unauthorized"}]}'], kind);
        }
      });
    }
  }
});

/** Headers that differ between any two responses. */
const VARYING_HEADERS = ['date', 'x-request-id'];

const comparableAnswer = ({ status, text, headers }: Answer) => {
  const same = Object.entries(headers).filter(([name]) => !VARYING_HEADERS.includes(name));
  return { status, text, headers: Object.fromEntries(same) };
};

describe('a hidden resource', () => {
  test('gets the same response as a missing one, headers included [TEAM-30] [TEAM-31] [AUTHZ-12]', async () => {
    const missing = comparableAnswer(await request(api, company.tokens.owner, 'GET', '/nothing-at-all'));
    assert.equal(missing.status, 404);
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
          comparableAnswer(await request(api, company.tokens[kind], method, path, sent)),
          missing,
          `${kind} ${path}`,
        );
      }
    }
    // Resources of the caller's own organization.
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
      assert.deepEqual(comparableAnswer(answer), missing, `${method} ${path}`);
    }
  });

  test('becomes visible with access and hidden again without it [AUTHZ-20]', async () => {
    const own = await makeCompany(api.state, 'coming-and-going');
    const path = `/team-workspaces?filter[workspace][id]=${own.workspaces.other}`;
    const token = own.tokens['in-secret-team'];
    assert.deepEqual(statusAndText(await request(api, token, 'GET', path)), NOT_FOUND);
    const access = createAccess('custom', {});
    const id = await api.state.write((tx) => putTeamWorkspace(tx, own.teams.secret, own.workspaces.other, access));
    assert.equal((await request(api, token, 'GET', path)).status, 200);
    await request(api, own.tokens.owner, 'DELETE', `/team-workspaces/${id}`);
    assert.deepEqual(statusAndText(await request(api, token, 'GET', path)), NOT_FOUND);
  });
});

test('If-Match is checked for changes of a row and rejected for creations [DOC-18] [DOC-19]', async () => {
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
