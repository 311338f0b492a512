/**
 * Compares operations with the single endpoints: each kind of caller sends each change both ways and gets the same
 * outcome [AUTHZ-85] [TEAM-67]. Operations are dry runs, and single requests do not change anything either.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { auditLog } from '../../src/audit/record.ts';
import { sharedApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import { sendOperations } from '../support/team-access/operations.ts';
import {
  CALLERS,
  type CallerKind,
  type Company,
  makeCompany,
  rowBody,
  UNAUTHENTICATED,
} from '../support/team-access/organizations.ts';
import { request, resource, toOne } from '../support/team-access/team-access.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * One change, as a single request and as an operation. Neither is made: the operation is a dry run, and the single
 * request is invalid or has an `If-Match` that never matches.
 */
interface Change {
  readonly description: string;
  readonly single: (company: Company) => { readonly method: string; readonly path: string; readonly body?: unknown };
  readonly operation: (company: Company) => Json;
}

const UNMATCHED_ETAG = { 'if-match': '"never"' };

const changes: readonly Change[] = [
  ...(['idle', 'hidden', 'visible', 'owners'] as const).flatMap((name): Change[] => [
    {
      description: `creation of a row of the team ${name}`,
      single: ({ teams, workspaces }) => ({
        method: 'POST',
        path: '/team-workspaces',
        body: rowBody(teams[name], workspaces.main, { access: 'no' }),
      }),
      operation: ({ teams, workspaces }) => ({ op: 'add', ...rowBody(teams[name], workspaces.main, { access: 'no' }) }),
    },
    {
      description: `change of the name of the team ${name}`,
      single: ({ teams }) => ({ method: 'PATCH', path: `/teams/${teams[name]}`, body: resource('teams', { name: 1 }) }),
      operation: ({ teams }) => ({
        op: 'update',
        ref: { type: 'teams', id: teams[name] },
        ...resource('teams', { name: 1 }),
      }),
    },
    {
      description: `change of the organization access of the team ${name}`,
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
      description: `deletion of the team ${name}`,
      single: ({ teams }) => ({ method: 'DELETE', path: `/teams/${teams[name]}` }),
      operation: ({ teams }) => ({ op: 'remove', ref: { type: 'teams', id: teams[name] } }),
    },
    ...(['add', 'remove'] as const).map((op): Change => {
      const body = {
        data: [
          { type: 'users', id: 'acme-lonely' },
          { type: 'users', id: 'no-such-user' },
        ],
      };
      return {
        description: `${op} of members of the team ${name}`,
        single: ({ teams }) => ({
          method: op === 'add' ? 'POST' : 'DELETE',
          path: `/teams/${teams[name]}/relationships/users`,
          body,
        }),
        operation: ({ teams }) => ({ op, href: `/api/v2/teams/${teams[name]}/relationships/users`, ...body }),
      };
    }),
  ]),
  ...(['visible', 'secret', 'admins'] as const).flatMap((name): Change[] => [
    {
      description: `change of the row of the team ${name}`,
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
      description: `deletion of the row of the team ${name}`,
      single: ({ rows }) => ({ method: 'DELETE', path: `/team-workspaces/${rows[name]}` }),
      operation: ({ rows }) => ({ op: 'remove', ref: { type: 'team-workspaces', id: rows[name] } }),
    },
  ]),
  {
    description: 'creation of a team',
    single: () => ({ method: 'POST', path: '/organizations/acme/teams', body: resource('teams', { name: 1 }) }),
    operation: () => ({ op: 'add', href: '/api/v2/organizations/acme/teams', ...resource('teams', { name: 1 }) }),
  },
  {
    description: 'creation of a membership',
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
        { teams: { data: [{ type: 'teams', id: teams.owners }] }, organization: toOne('organizations', 'acme') },
      ),
    }),
  },
];

/** Returns the outcome of a response, without the differences between a single request and an operation. */
function comparableOutcome({ status, text }: Answer, isSuccess: boolean): unknown {
  if (status < 300 || isSuccess) return 'success';
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

describe('an operation has the same outcome as the single request [AUTHZ-85]:', () => {
  const api = sharedApi();
  let company: Company;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
  });

  for (const { description, single, operation } of changes) {
    test(description, async () => {
      const outcomes = new Map<CallerKind, unknown>();
      for (const caller of [...CALLERS, ...UNAUTHENTICATED]) {
        const { method, path, body } = single(company);
        const token = company.tokens[caller];
        const takesIfMatch = method !== 'POST' && !path.includes('/relationships/');
        const headers = takesIfMatch ? UNMATCHED_ETAG : {};
        const singleAnswer = await request(api(), token, method, path, { body, headers });
        const operationAnswer = await sendOperations(api(), token, [operation(company)], { query: '?dry-run=true' });
        const outcome = comparableOutcome(operationAnswer, false);
        // If-Match is the last check, so 412 means that the single request would have succeeded.
        assert.deepEqual(outcome, comparableOutcome(singleAnswer, singleAnswer.status === 412), caller);
        outcomes.set(caller, outcome);
      }
      assert.ok(new Set([...outcomes.values()].map((value) => JSON.stringify(value))).size > 1, 'outcomes differ');
    });
  }

  test('all requests are rejected or dry runs, and leave no audit entry', async () => {
    const log = await api().state.scan(auditLog, { limit: 1_000 }, AbortSignal.timeout(10_000));
    assert.deepEqual(
      log.map(({ row }) => row.type).filter((type) => /^(team|organization-mem)/.test(type)),
      [],
    );
  });
});

describe('an operation is authorized after the operations before it [TEAM-68]:', () => {
  const api = sharedApi();
  let company: Company;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
  });

  test('an owner who leaves the owners team cannot create a team afterwards', async () => {
    const { teams, tokens } = company;
    const members = { type: 'teams', id: teams.managers, relationship: 'users' };
    const answer = await sendOperations(api(), tokens.owner, [
      { op: 'add', ...resource('teams', { name: 'second' }, { organization: toOne('organizations', 'acme') }) },
      { op: 'add', ref: { ...members, id: teams.owners }, data: [{ type: 'users', id: 'acme-lonely' }] },
      { op: 'remove', ref: { ...members, id: teams.owners }, data: [{ type: 'users', id: 'acme-owner' }] },
      { op: 'add', ...resource('teams', { name: 'third' }, { organization: toOne('organizations', 'acme') }) },
    ]);
    assert.equal(answer.status, 404);
    assert.match(answer.text, /"pointer":"\/atomic:operations\/3"/);
  });

  test('a workspace admin who lowers their own row cannot create a row afterwards', async () => {
    const { rows, teams, tokens, workspaces } = company;
    const answer = await sendOperations(api(), tokens['admin-by-row'], [
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
