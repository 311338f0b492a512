/**
 * Compares effective access in random organizations with an oracle that derives it from the organization's shape by
 * brute force [AUTHZ-28]. Also checks the explanation, and that an additional grant never lowers access.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newId } from '../../src/credentials/ids-and-secrets.ts';
import { users } from '../../src/credentials/user.ts';
import { SCHEMA } from '../../src/main/schema.ts';
import { runAtOnce } from '../../src/state/clock/slices.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import type { State } from '../../src/state/state.ts';
import type { Transaction } from '../../src/state/write/transaction.ts';
import { accessContributions, userRole } from '../../src/team-access/authorization/caller.ts';
import { effectiveAccess, explainAccess } from '../../src/team-access/authorization/effective-access.ts';
import { organizations } from '../../src/team-access/tables/organization.ts';
import {
  ORGANIZATION_PERMISSIONS,
  type OrganizationPermission,
} from '../../src/team-access/tables/organization-access.ts';
import { memberships } from '../../src/team-access/tables/organization-membership.ts';
import { OWNERS_TEAM_NAME, teamMembers } from '../../src/team-access/tables/team.ts';
import {
  ACCESS_LEVELS,
  type Access,
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  attributesOf,
  createAccess,
  rankOf,
  teamWorkspaces,
} from '../../src/team-access/tables/team-workspace.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { openState } from '../support/state/state.ts';
import { putTeam, putWorkspace } from '../support/team-access/organizations.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RUNS = 60;
const TEAMS = 4;
const USERS = 3;
const WORKSPACES = 3;

/** The content of an organization. Numbers identify teams, users and workspaces; team 0 is the owners team. */
interface OrganizationShape {
  readonly permissions: readonly (readonly OrganizationPermission[])[];
  /** The teams of each user. */
  readonly teamsByUser: readonly (readonly number[])[];
  readonly rows: readonly {
    readonly team: number;
    readonly workspace: number;
    readonly access: Access;
    readonly isExpired: boolean;
  }[];
}

const anyAccess: fc.Arbitrary<Access> = fc
  .record({
    level: fc.constantFrom(...ACCESS_LEVELS),
    custom: fc.record(
      Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, fc.constantFrom(...ATTRIBUTES[name].values)])),
    ),
  })
  .map(({ level, custom }) => createAccess(level, custom));
const anyShape: fc.Arbitrary<OrganizationShape> = fc.record({
  permissions: fc.array(fc.subarray([...ORGANIZATION_PERMISSIONS], { maxLength: 2 }), {
    minLength: TEAMS,
    maxLength: TEAMS,
  }),
  teamsByUser: fc.array(fc.subarray(Array.from({ length: TEAMS }, (_, team) => team)), {
    minLength: USERS,
    maxLength: USERS,
  }),
  rows: fc.uniqueArray(
    fc.record({
      team: fc.integer({ min: 1, max: TEAMS - 1 }),
      workspace: fc.nat(WORKSPACES - 1),
      access: anyAccess,
      isExpired: fc.boolean(),
    }),
    { selector: ({ team, workspace }) => `${team}/${workspace}`, maxLength: 8 },
  ),
});

interface CreatedOrganization {
  readonly organizationId: string;
  readonly users: readonly string[];
  readonly workspaces: readonly string[];
}

function createOrganization(
  tx: Transaction,
  { permissions, teamsByUser, rows }: OrganizationShape,
): CreatedOrganization {
  const organizationId = newId('org');
  const createTime = new Date(tx.now).toISOString();
  const settings = { email: '', plan: 'standard', defaultProjectId: '', settings: {} } as const;
  const organization = { id: organizationId, name: organizationId, ownersTeamId: newId('team'), createTime };
  tx.put(organizations, { ...organization, ...settings });
  const teams = permissions.map((given, i) =>
    putTeam(tx, organizationId, i === 0 ? OWNERS_TEAM_NAME : `team-${i}`, 'secret', given),
  );
  const userIds = teamsByUser.map((userTeams) => {
    const userId = newId('user');
    tx.put(users, { id: userId, username: userId, email: '', siteAdmin: false, createTime });
    const membershipId = newId('ou');
    tx.put(memberships, { id: membershipId, organizationId, userId, createTime, place: tx.position });
    for (const team of userTeams) tx.put(teamMembers, { teamId: teams[team] ?? '', userId, membershipId });
    return userId;
  });
  const workspaces = Array.from({ length: WORKSPACES }, (_, i) => putWorkspace(tx, organizationId, `workspace-${i}`));
  for (const { team, workspace, access, isExpired } of rows) {
    const pair = { teamId: teams[team] ?? '', workspaceId: workspaces[workspace] ?? '' };
    const expiresAtMs = isExpired ? tx.now - 1 : tx.now + 1_000;
    tx.put(teamWorkspaces, { ...access, ...pair, id: newId('tws'), expiresAtMs, place: tx.position });
  }
  return { organizationId, users: userIds, workspaces };
}

/** Returns the access of every source that a user has on a workspace, as the rules define the sources [AUTHZ-28]. */
function grantedAccess(
  { permissions, teamsByUser, rows }: OrganizationShape,
  user: number,
  workspace: number,
): Access[] {
  return (teamsByUser[user] ?? []).flatMap((team): Access[] => {
    const held = permissions[team] ?? [];
    const admin = team === 0 || held.includes('manage-workspaces') || held.includes('manage-projects');
    const row = rows.find((one) => one.team === team && one.workspace === workspace && !one.isExpired);
    return [
      ...(admin ? [{ access: 'admin' } as const] : []),
      ...(held.includes('read-workspaces') || held.includes('manage-agent-pools') ? [{ access: 'read' } as const] : []),
      ...(held.includes('manage-policies') || held.includes('manage-policy-overrides')
        ? [createAccess('custom', { runs: 'read' })]
        : []),
      ...(row === undefined ? [] : [row.access]),
    ];
  });
}

/** Returns the highest rank of each attribute (-1 for none), followed by 1 for `admin` or 0. */
const highestRanks = (all: readonly Access[]): number[] => [
  ...ATTRIBUTE_NAMES.map((name) => Math.max(-1, ...all.map((access) => rankOf(name, attributesOf(access)[name])))),
  all.some(({ access }) => access === 'admin') ? 1 : 0,
];

/** Returns these ranks as the server computes them for each user and workspace. Checks that the explanation agrees. */
function decidedRanks(
  { snapshot }: State,
  { organizationId, users: userIds, workspaces }: CreatedOrganization,
): number[][] {
  const organization = snapshot.get(organizations, organizationId)?.row;
  assert.ok(organization !== undefined);
  return userIds.flatMap((userId) =>
    workspaces.map((workspaceId) => {
      const role = userRole(snapshot, userId, organization);
      assert.ok(role !== undefined);
      const contributions = accessContributions(snapshot, role, workspaceId);
      const decision = effectiveAccess(contributions);
      const explained = runAtOnce(explainAccess(contributions));
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

/** Returns the shape with an additional team member, organization permission or unexpired row. */
const withOneMoreGrant = (
  shape: OrganizationShape,
  user: number,
  team: number,
  permission: OrganizationPermission,
): readonly OrganizationShape[] => [
  {
    ...shape,
    teamsByUser: shape.teamsByUser.map((userTeams, i) => (i === user ? [...new Set([...userTeams, team])] : userTeams)),
  },
  { ...shape, permissions: shape.permissions.map((held, i) => (i === team ? [...held, permission] : held)) },
  { ...shape, rows: shape.rows.map((row) => ({ ...row, isExpired: false })) },
];

test('effective access equals that of the oracle and never decreases with an additional grant [AUTHZ-28]', async () => {
  await using directory = await temporaryDirectory();
  await using state = await openState(sqliteEngine({ directory: directory.path }), {
    schema: SCHEMA,
    clock: createFakeClock(),
  });
  const decide = async (shape: OrganizationShape): Promise<number[][]> => {
    const ranks = decidedRanks(state, await state.write((tx) => createOrganization(tx, shape)));
    const oracle = shape.teamsByUser.flatMap((_, user) =>
      Array.from({ length: WORKSPACES }, (_, workspace) => highestRanks(grantedAccess(shape, user, workspace))),
    );
    assert.deepEqual(ranks, oracle);
    return ranks;
  };
  const grant = fc.tuple(fc.nat(USERS - 1), fc.nat(TEAMS - 1), fc.constantFrom(...ORGANIZATION_PERMISSIONS));
  await fc.assert(
    fc.asyncProperty(anyShape, grant, async (shape, [user, team, permission]) => {
      const before = await decide(shape);
      for (const more of withOneMoreGrant(shape, user, team, permission)) {
        const after = await decide(more);
        for (const [i, ranks] of before.entries()) {
          for (const [j, rank] of ranks.entries()) assert.ok((after[i]?.[j] ?? -1) >= rank);
        }
      }
    }),
    { numRuns: RUNS },
  );
});
