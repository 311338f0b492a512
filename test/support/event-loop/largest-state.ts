/** A state in which every list is as long as its size allows, for measurements of the largest requests. */

import { openState, writeInBatches } from '../../../bench/support/data-directory.ts';
import {
  createOrganizationDirectory,
  numberedId,
  ORGANIZATION,
  type OrganizationSize,
  scatteredId,
  teamOfRow,
  userToken,
} from '../../../bench/support/organization-directory.ts';
import { aclTokens } from '../../../src/credentials/acl-token.ts';
import { hashSecret } from '../../../src/credentials/ids-and-secrets.ts';
import { memberships } from '../../../src/team-access/tables/organization-membership.ts';
import { teamMembers } from '../../../src/team-access/tables/team.ts';

export interface LargestSize extends OrganizationSize {
  readonly users: number;
  readonly aclTokens: number;
  readonly services: number;
}

/** For each run of the tests. */
export const SMALLER: LargestSize = {
  teams: 2_000,
  workspaces: 1_000,
  users: 2_000,
  rowsOn: (workspace) => (workspace === 0 ? 1_900 : 5),
  aclTokens: 2_000,
  services: 500,
};

/** A million rows. */
export const FULL: LargestSize = {
  teams: 10_000,
  workspaces: 40_000,
  users: 40_000,
  rowsOn: (workspace) => (workspace === 0 ? 9_900 : 19),
  aclTokens: 20_000,
  services: 10_000,
};

export interface LargestState extends AsyncDisposable {
  readonly directory: string;
  readonly ownerToken: string;
  /** The token of a user without permissions who is in every team. */
  readonly memberToken: string;
}

/** Creates the state in a data directory. Workspace 0 has the most rows, team 0 all users, and user 0 all teams. */
export async function createLargestState(size: LargestSize): Promise<LargestState> {
  const created = await createOrganizationDirectory(size);
  await using state = await openState(created.directory);
  const member = scatteredId('user', 0);
  const membershipOf = (userId: string): string =>
    state.snapshot.list(memberships, 'user', userId, { limit: 1 })[0]?.row.id ?? '';
  await writeInBatches(state, size.teams, (tx, i) =>
    tx.put(teamMembers, { teamId: numberedId('team', i), userId: member, membershipId: membershipOf(member) }),
  );
  await writeInBatches(state, size.users, (tx, i) => {
    const userId = scatteredId('user', i);
    tx.put(teamMembers, { teamId: numberedId('team', 0), userId, membershipId: membershipOf(userId) });
  });
  await writeInBatches(state, size.aclTokens, (tx, i) => {
    tx.put(aclTokens, {
      accessorId: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      secretHash: hashSecret(`secret ${i}`),
      description: `token ${i}`,
      partition: 'default',
      grants: [{ Resource: 'peering', Access: 'read', Partition: 'default' }],
      createTime: new Date(tx.now).toISOString(),
    });
  });
  return { ...created, memberToken: userToken(0) };
}

/** The resources that requests name. */
export const LARGEST = {
  organization: ORGANIZATION,
  /** All users are its members. */
  team: numberedId('team', 0),
  /** Has the most rows. */
  workspace: numberedId('ws', 0),
  user: scatteredId('user', 0),
  membership: scatteredId('ou', 0),
  row: scatteredId('tws', 0),
  teamOfRow: (size: OrganizationSize, row: number): string => numberedId('team', teamOfRow(size, 0, row)),
} as const;
