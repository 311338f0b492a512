/**
 * No way round by operations: whatever the single endpoints answer to somebody, an operation comes to the same. Each kind
 * of caller asks for each change both ways, on what everybody may see and on what is secret, in dry runs.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { auditLog } from '../../src/audit/record.ts';
import { sharedApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import { operate } from '../support/team-access/operations.ts';
import {
  CALLERS,
  type CallerKind,
  type Company,
  makeCompany,
  NOBODIES,
  rowBody,
} from '../support/team-access/organizations.ts';
import { request, resource, to } from '../support/team-access/team-access.ts';

type Json = Readonly<Record<string, unknown>>;

/** A change, both ways. The single request is made to be refused after the right to make it was checked. */
interface Way {
  readonly what: string;
  readonly single: (company: Company) => { readonly method: string; readonly path: string; readonly body?: unknown };
  readonly operation: (company: Company) => Json;
}

const NEVER = { 'if-match': '"never"' };

const ways: readonly Way[] = [
  ...(['idle', 'hidden', 'visible', 'owners'] as const).flatMap((name): Way[] => [
    {
      what: `a row of the team ${name}`,
      single: ({ teams, workspaces }) => ({
        method: 'POST',
        path: '/team-workspaces',
        body: rowBody(teams[name], workspaces.main, { access: 'no' }),
      }),
      operation: ({ teams, workspaces }) => ({ op: 'add', ...rowBody(teams[name], workspaces.main, { access: 'no' }) }),
    },
    {
      what: `the name of the team ${name}`,
      single: ({ teams }) => ({ method: 'PATCH', path: `/teams/${teams[name]}`, body: resource('teams', { name: 1 }) }),
      operation: ({ teams }) => ({
        op: 'update',
        ref: { type: 'teams', id: teams[name] },
        ...resource('teams', { name: 1 }),
      }),
    },
    {
      what: `what the team ${name} may do in the organization`,
      single: ({ teams }) => ({
        method: 'PATCH',
        path: `/teams/${teams[name]}`,
        body: resource('teams', { name: 'managers', 'organization-access': { 'manage-workspaces': true } }),
      }),
      operation: ({ teams }) => ({
        op: 'update',
        ref: { type: 'teams', id: teams[name] },
        ...resource('teams', { name: 'managers', 'organization-access': { 'manage-workspaces': true } }),
      }),
    },
    {
      what: `the team ${name} itself`,
      single: ({ teams }) => ({ method: 'DELETE', path: `/teams/${teams[name]}` }),
      operation: ({ teams }) => ({ op: 'remove', ref: { type: 'teams', id: teams[name] } }),
    },
    ...(['add', 'remove'] as const).map((op): Way => {
      const body = {
        data: [
          { type: 'users', id: 'acme-lonely' },
          { type: 'users', id: 'nobody-at-all' },
        ],
      };
      return {
        what: `${op} members of the team ${name}`,
        single: ({ teams }) => ({
          method: op === 'add' ? 'POST' : 'DELETE',
          path: `/teams/${teams[name]}/relationships/users`,
          body,
        }),
        operation: ({ teams }) => ({ op, href: `/api/v2/teams/${teams[name]}/relationships/users`, ...body }),
      };
    }),
  ]),
  ...(['visible', 'secret', 'admins'] as const).flatMap((name): Way[] => [
    {
      what: `the row of the team ${name}`,
      single: ({ rows }) => ({
        method: 'PATCH',
        path: `/team-workspaces/${rows[name]}`,
        body: resource('team-workspaces', { access: 'x' }),
      }),
      operation: ({ rows }) => ({
        op: 'update',
        ref: { type: 'team-workspaces', id: rows[name] },
        ...resource('team-workspaces', { access: 'x' }),
      }),
    },
    {
      what: `removing the row of the team ${name}`,
      single: ({ rows }) => ({ method: 'DELETE', path: `/team-workspaces/${rows[name]}` }),
      operation: ({ rows }) => ({ op: 'remove', ref: { type: 'team-workspaces', id: rows[name] } }),
    },
  ]),
  {
    what: 'a new team',
    single: () => ({ method: 'POST', path: '/organizations/acme/teams', body: resource('teams', { name: 1 }) }),
    operation: () => ({ op: 'add', href: '/api/v2/organizations/acme/teams', ...resource('teams', { name: 1 }) }),
  },
  {
    what: 'a new membership',
    single: ({ teams }) => ({
      method: 'POST',
      path: '/organizations/acme/organization-memberships',
      body: resource(
        'organization-memberships',
        { email: 1 },
        { teams: { data: [{ type: 'teams', id: teams.owners }] } },
      ),
    }),
    operation: ({ teams }) => ({
      op: 'add',
      ...resource(
        'organization-memberships',
        { email: 1 },
        { teams: { data: [{ type: 'teams', id: teams.owners }] }, organization: to('organizations', 'acme') },
      ),
    }),
  },
];

/** What an answer says, whichever way it came. */
function told({ status, text }: Answer, wasDone: boolean): unknown {
  if (status < 300 || wasDone) return 'done';
  if (status === 401) return text;
  const { errors } = JSON.parse(text) as { errors: { source?: { pointer?: string } }[] };
  return {
    status,
    errors: errors.map(({ source, ...error }) => {
      const pointer = source?.pointer?.replace('/atomic:operations/0', '') ?? '';
      return { ...error, pointer };
    }),
  };
}

describe('an operation comes to what the single endpoint answers:', () => {
  const api = sharedApi();
  let company: Company;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
  });

  for (const { what, single, operation } of ways) {
    test(what, async () => {
      const met = new Map<CallerKind, unknown>();
      for (const caller of [...CALLERS, ...NOBODIES]) {
        const { method, path, body } = single(company);
        const token = company.tokens[caller];
        const takesIfMatch = method !== 'POST' && !path.includes('/relationships/');
        const headers = takesIfMatch ? NEVER : {};
        const alone = await request(api(), token, method, path, { body, headers });
        const together = await operate(api(), token, [operation(company)], { query: '?dry-run=true' });
        // The condition that keeps the single one from being made is the last of its checks.
        assert.deepEqual(told(together, false), told(alone, alone.status === 412), caller);
        met.set(caller, told(together, false));
      }
      assert.ok(new Set([...met.values()].map((value) => JSON.stringify(value))).size > 1, 'not all get the same');
    });
  }

  test('nothing was changed by any of them', async () => {
    const log = await api().state.scan(auditLog, { limit: 1_000 }, AbortSignal.timeout(10_000));
    assert.deepEqual(
      log.map(({ row }) => row.type).filter((type) => /^(team|organization-mem)/.test(type)),
      [],
    );
  });
});

describe('operations give nobody more than they had:', () => {
  const api = sharedApi();
  let company: Company;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
  });

  test('who gives up a right in one operation lacks it in the next', async () => {
    const { teams, tokens } = company;
    const members = { type: 'teams', id: teams.managers, relationship: 'users' };
    const answer = await operate(api(), tokens.owner, [
      { op: 'add', ...resource('teams', { name: 'second' }, { organization: to('organizations', 'acme') }) },
      { op: 'add', ref: { ...members, id: teams.owners }, data: [{ type: 'users', id: 'acme-lonely' }] },
      { op: 'remove', ref: { ...members, id: teams.owners }, data: [{ type: 'users', id: 'acme-owner' }] },
      { op: 'add', ...resource('teams', { name: 'third' }, { organization: to('organizations', 'acme') }) },
    ]);
    assert.equal(answer.status, 404);
    assert.match(answer.text, /"pointer":"\/atomic:operations\/3"/);
  });

  test('who gives themself up as the only admin by a row of the workspace may not go on there', async () => {
    const { rows, teams, tokens, workspaces } = company;
    const answer = await operate(api(), tokens['admin-by-row'], [
      {
        op: 'update',
        ...resource('team-workspaces', { access: 'read' }),
        ref: { type: 'team-workspaces', id: rows.admins },
      },
      { op: 'add', ...rowBody(teams.idle, workspaces.main, { access: 'admin' }) },
    ]);
    assert.equal(answer.status, 404);
    assert.match(answer.text, /"pointer":"\/atomic:operations\/1"/);
  });
});
