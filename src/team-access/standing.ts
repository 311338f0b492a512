/** What a caller is in an organization, and what that gives on its workspaces. Pure: from rows. */
import type { Reader } from '../state/reader.ts';
import type { DeepReadonly } from '../state/table.ts';
import type { Caller } from './caller.ts';
import {
  type Contribution,
  type Effective,
  effectiveAccess,
  ownerContribution,
  permissionContributions,
} from './effective.ts';
import { membershipPair, memberships } from './organization-memberships/membership.ts';
import { type Organization, organizations } from './organizations/organization.ts';
import { teamWorkspacePair, teamWorkspaces } from './team-workspaces/team-workspace.ts';
import { allPermissions, type OrganizationPermission, withImplied } from './teams/organization-access.ts';
import { type Team, teams } from './teams/team.ts';
import { teamMembers } from './teams/team-member.ts';

export interface Standing {
  readonly organization: DeepReadonly<Organization>;
  /** In the `owners` team, or with its token or the organization's. */
  readonly owner: boolean;
  /** The teams that they are in; none with the organization's token. */
  readonly teams: readonly DeepReadonly<Team>[];
  /** What their teams may do in the organization, with everything that it implies. */
  readonly permissions: ReadonlySet<OrganizationPermission>;
}

/** `undefined` for an outsider, to whom nothing in the organization exists. */
export function standingOf(reader: Reader, caller: Caller, organizationId: string): Standing | undefined {
  const organization = reader.get(organizations, organizationId)?.row;
  if (organization === undefined) return undefined;
  switch (caller.kind) {
    case 'organization':
      if (caller.organizationId !== organizationId) return undefined;
      return { organization, owner: true, teams: [], permissions: allPermissions() };
    case 'team': {
      const team = reader.get(teams, caller.teamId)?.row;
      return team?.organizationId === organizationId ? standingWith(organization, [team]) : undefined;
    }
    case 'user':
      return userStanding(reader, caller.userId, organization);
  }
}

/** Of a user, whoever asks. */
export function userStanding(
  reader: Reader,
  userId: string,
  organization: DeepReadonly<Organization>,
): Standing | undefined {
  const membership = reader.find(memberships, 'pair', membershipPair(organization.id, userId));
  if (membership === undefined) return undefined;
  const theirs = reader
    .list(teamMembers, 'membership', membership.row.id)
    .map(({ row }) => reader.get(teams, row.teamId)?.row)
    .filter((team) => team !== undefined);
  return standingWith(organization, theirs);
}

/** Of who is in exactly these teams of the organization. */
export function standingWith(
  organization: DeepReadonly<Organization>,
  theirs: readonly DeepReadonly<Team>[],
): Standing {
  const owner = theirs.some(({ id }) => id === organization.ownersTeamId);
  const permissions = owner ? allPermissions() : withImplied(theirs.flatMap((team) => team.organizationAccess));
  return { organization, owner, teams: theirs, permissions };
}

/** Everything that gives them access to a workspace of the organization. */
export function contributionsOn(reader: Reader, standing: Standing, workspaceId: string): Contribution[] {
  const { organization, owner, teams: theirs } = standing;
  const contributions: Contribution[] = [];
  if (owner && theirs.length === 0) contributions.push(ownerContribution(undefined));
  for (const team of theirs) {
    if (team.id === organization.ownersTeamId) contributions.push(ownerContribution(team.id));
    contributions.push(...permissionContributions(team.id, team.organizationAccess));
    const row = reader.find(teamWorkspaces, 'pair', teamWorkspacePair(team.id, workspaceId))?.row;
    if (row === undefined) continue;
    contributions.push({ source: { kind: 'team-workspace', teamId: team.id, id: row.id }, access: row });
  }
  return contributions;
}

/** Their access to a workspace of the organization; `undefined`: it does not exist for them. */
export const accessOn = (reader: Reader, standing: Standing, workspaceId: string): Effective | undefined =>
  effectiveAccess(contributionsOn(reader, standing, workspaceId));
