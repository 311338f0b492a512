/**
 * Effective access over whole random organizations, as rows in the state: it is what an oracle works out by brute force
 * from how the organization was made, never falls when a grant is added, and its explanation sums up to it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newId } from '../../src/credentials/secret.ts';
import { users } from '../../src/credentials/user.ts';
import { SCHEMA } from '../../src/main/schema.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import type { State } from '../../src/state/state.ts';
import type { Transaction } from '../../src/state/write/transaction.ts';
import { contributionsOn, userStanding } from '../../src/team-access/authorization/caller-role.ts';
import { effectiveAccess, explainAccess } from '../../src/team-access/authorization/effective-access.ts';
import {
  ACCESS_LEVELS,
  type Access,
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  attributesOf,
  createdAccess,
  rankOf,
} from '../../src/team-access/tables/access.ts';
import { organizations } from '../../src/team-access/tables/organization.ts';
import {
  ORGANIZATION_PERMISSIONS,
  type OrganizationPermission,
} from '../../src/team-access/tables/organization-access.ts';
import { memberships } from '../../src/team-access/tables/organization-membership.ts';
import { OWNERS } from '../../src/team-access/tables/team.ts';
import { teamMembers } from '../../src/team-access/tables/team-member.ts';
import { teamWorkspaces } from '../../src/team-access/tables/team-workspace.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { openState } from '../support/state/state.ts';
import { putTeam, putWorkspace } from '../support/team-access/organizations.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RUNS = 60;
const TEAMS = 4;
const USERS = 3;
const WORKSPACES = 3;

/** How an organization is made; teams, users and workspaces by their numbers. Team 0 owns it. */
interface Shape {
  readonly permissions: readonly (readonly OrganizationPermission[])[];
  /** By user. */
  readonly inTeams: readonly (readonly number[])[];
  readonly rows: readonly {
    readonly team: number;
    readonly workspace: number;
    readonly access: Access;
    readonly over: boolean;
  }[];
}

const anyAccess: fc.Arbitrary<Access> = fc
  .record({
    level: fc.constantFrom(...ACCESS_LEVELS),
    custom: fc.record(
      Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, fc.constantFrom(...ATTRIBUTES[name].values)])),
    ),
  })
  .map(({ level, custom }) => createdAccess(level, custom));
const anyShape: fc.Arbitrary<Shape> = fc.record({
  permissions: fc.array(fc.subarray([...ORGANIZATION_PERMISSIONS], { maxLength: 2 }), {
    minLength: TEAMS,
    maxLength: TEAMS,
  }),
  inTeams: fc.array(fc.subarray(Array.from({ length: TEAMS }, (_, team) => team)), {
    minLength: USERS,
    maxLength: USERS,
  }),
  rows: fc.uniqueArray(
    fc.record({
      team: fc.integer({ min: 1, max: TEAMS - 1 }),
      workspace: fc.nat(WORKSPACES - 1),
      access: anyAccess,
      over: fc.boolean(),
    }),
    { selector: ({ team, workspace }) => `${team}/${workspace}`, maxLength: 8 },
  ),
});

interface Made {
  readonly organizationId: string;
  readonly users: readonly string[];
  readonly workspaces: readonly string[];
}

function make(tx: Transaction, { permissions, inTeams, rows }: Shape): Made {
  const organizationId = newId('org');
  const createTime = new Date(tx.now).toISOString();
  const settings = { email: '', plan: 'standard', defaultProjectId: '', settings: {} } as const;
  const organization = { id: organizationId, name: organizationId, ownersTeamId: newId('team'), createTime };
  tx.put(organizations, { ...organization, ...settings });
  const teams = permissions.map((given, i) =>
    putTeam(tx, organizationId, i === 0 ? OWNERS : `team-${i}`, 'secret', given),
  );
  const made = inTeams.map((theirs) => {
    const userId = newId('user');
    tx.put(users, { id: userId, username: userId, email: '', siteAdmin: false, createTime });
    const membershipId = newId('ou');
    tx.put(memberships, { id: membershipId, organizationId, userId, createTime, place: tx.position });
    for (const team of theirs) tx.put(teamMembers, { teamId: teams[team] ?? '', userId, membershipId });
    return userId;
  });
  const workspaces = Array.from({ length: WORKSPACES }, (_, i) => putWorkspace(tx, organizationId, `workspace-${i}`));
  for (const { team, workspace, access, over } of rows) {
    const pair = { teamId: teams[team] ?? '', workspaceId: workspaces[workspace] ?? '' };
    const expiresAtMs = over ? tx.now - 1 : tx.now + 1_000;
    tx.put(teamWorkspaces, { ...access, ...pair, id: newId('tws'), expiresAtMs, place: tx.position });
  }
  return { organizationId, users: made, workspaces };
}

/** Everything that gives a user something on a workspace, by the words of the rules. */
function given({ permissions, inTeams, rows }: Shape, user: number, workspace: number): Access[] {
  return (inTeams[user] ?? []).flatMap((team): Access[] => {
    const held = permissions[team] ?? [];
    const admin = team === 0 || held.includes('manage-workspaces') || held.includes('manage-projects');
    const row = rows.find((one) => one.team === team && one.workspace === workspace && !one.over);
    return [
      ...(admin ? [{ access: 'admin' } as const] : []),
      ...(held.includes('read-workspaces') ? [{ access: 'read' } as const] : []),
      ...(row === undefined ? [] : [row.access]),
    ];
  });
}

/** For each attribute the rank of the highest, -1 for none; last, whether it is admin. */
const sumOf = (all: readonly Access[]): number[] => [
  ...ATTRIBUTE_NAMES.map((name) => Math.max(-1, ...all.map((access) => rankOf(name, attributesOf(access)[name])))),
  all.some(({ access }) => access === 'admin') ? 1 : 0,
];

/** The same of what the server decides for every user on every workspace, which its explanation must agree with. */
function decided({ snapshot }: State, { organizationId, users: everybody, workspaces }: Made): number[][] {
  const organization = snapshot.get(organizations, organizationId)?.row;
  assert.ok(organization !== undefined);
  return everybody.flatMap((userId) =>
    workspaces.map((workspaceId) => {
      const standing = userStanding(snapshot, userId, organization);
      assert.ok(standing !== undefined);
      const contributions = contributionsOn(snapshot, standing, workspaceId);
      const decision = effectiveAccess(contributions);
      const explained = explainAccess(contributions);
      const explainedRank = (name: string) => explained.find((one) => one.name === name)?.value;
      const ranks = ATTRIBUTE_NAMES.map((name) => rankOf(name, decision?.attributes[name]));
      assert.deepEqual(
        ATTRIBUTE_NAMES.map((name) => rankOf(name, explainedRank(name))),
        ranks,
      );
      assert.equal(explainedRank('admin') === true, decision?.access === 'admin');
      return [...ranks, decision?.access === 'admin' ? 1 : 0];
    }),
  );
}

/** A shape with one grant more. */
const withMore = (shape: Shape, user: number, team: number, permission: OrganizationPermission): readonly Shape[] => [
  { ...shape, inTeams: shape.inTeams.map((theirs, i) => (i === user ? [...new Set([...theirs, team])] : theirs)) },
  { ...shape, permissions: shape.permissions.map((held, i) => (i === team ? [...held, permission] : held)) },
  { ...shape, rows: shape.rows.map((row) => ({ ...row, over: false })) },
];

test('effective access over random organizations is what an oracle says, and never falls when a grant is added', async () => {
  await using directory = await temporaryDirectory();
  await using state = await openState(sqliteEngine({ directory: directory.path }), {
    schema: SCHEMA,
    clock: createFakeClock(),
  });
  const decide = async (shape: Shape): Promise<number[][]> => {
    const ranks = decided(state, await state.write((tx) => make(tx, shape)));
    const oracle = shape.inTeams.flatMap((_, user) =>
      Array.from({ length: WORKSPACES }, (_, workspace) => sumOf(given(shape, user, workspace))),
    );
    assert.deepEqual(ranks, oracle);
    return ranks;
  };
  const grant = fc.tuple(fc.nat(USERS - 1), fc.nat(TEAMS - 1), fc.constantFrom(...ORGANIZATION_PERMISSIONS));
  await fc.assert(
    fc.asyncProperty(anyShape, grant, async (shape, [user, team, permission]) => {
      const before = await decide(shape);
      for (const more of withMore(shape, user, team, permission)) {
        const after = await decide(more);
        for (const [i, ranks] of before.entries()) {
          for (const [j, rank] of ranks.entries()) assert.ok((after[i]?.[j] ?? -1) >= rank);
        }
      }
    }),
    { numRuns: RUNS },
  );
});
