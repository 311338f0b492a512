/**
 * What a caller is in an organization, and what that gives on its workspaces: from rows alone, worked out each time. The
 * one exception are callers out of `remembering`, whose standings are kept beside them.
 */
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { type Organization, organizations } from '../tables/organization.ts';
import { allPermissions, type OrganizationPermission, withImplied } from '../tables/organization-access.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { type Team, teams } from '../tables/team.ts';
import { teamMembers } from '../tables/team-member.ts';
import { type TeamWorkspace, teamWorkspacePair, teamWorkspaces } from '../tables/team-workspace.ts';
import type { Caller } from './caller.ts';
import {
  ADMIN,
  type Contribution,
  type Effective,
  effectiveAccess,
  ownerContribution,
  permissionContributions,
} from './effective-access.ts';

/** What a caller is in one organization. */
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
  const known = remembered.get(caller);
  if (known === undefined) return worksOutTo(reader, caller, organizationId);
  if (!known.has(organizationId)) known.set(organizationId, worksOutTo(reader, caller, organizationId));
  return known.get(organizationId);
}

function worksOutTo(reader: Reader, caller: Caller, organizationId: string): Standing | undefined {
  switch (caller.kind) {
    case 'organization':
      return caller.organizationId === organizationId ? tokenStanding(reader, organizationId) : undefined;
    case 'team': {
      const team = reader.get(teams, caller.teamId)?.row;
      return team?.organizationId === organizationId ? teamStanding(reader, team) : undefined;
    }
    case 'user': {
      const membership = reader.find(memberships, 'pair', membershipPair(organizationId, caller.userId))?.row;
      return membership && memberStanding(reader, membership);
    }
  }
}

/** What a caller is where they belong: in the first of their organizations; `undefined` for who is in none. */
export function standingAtHome(reader: Reader, caller: Caller): Standing | undefined {
  switch (caller.kind) {
    case 'organization':
      return tokenStanding(reader, caller.organizationId);
    case 'team': {
      const team = reader.get(teams, caller.teamId)?.row;
      return team && teamStanding(reader, team);
    }
    case 'user': {
      const membership = firstMembership(reader, caller.userId);
      return membership && memberStanding(reader, membership);
    }
  }
}

/** Looks up what `standingAtHome` does before what is in that organization. */
export function lookHome(reader: Reader, caller: Caller): void {
  if (caller.kind === 'team') reader.get(teams, caller.teamId);
  else if (caller.kind === 'user') firstMembership(reader, caller.userId);
}

const firstMembership = (reader: Reader, userId: string): DeepReadonly<Membership> | undefined =>
  reader.list(memberships, 'user', userId, { limit: 1 })[0]?.row;

function tokenStanding(reader: Reader, organizationId: string): Standing | undefined {
  const organization = reader.get(organizations, organizationId)?.row;
  return organization && { organization, owner: true, teams: [], permissions: allPermissions() };
}

function teamStanding(reader: Reader, team: DeepReadonly<Team>): Standing | undefined {
  const organization = reader.get(organizations, team.organizationId)?.row;
  return organization && standingWith(organization, [team]);
}

function memberStanding(reader: Reader, { id, organizationId }: DeepReadonly<Membership>): Standing | undefined {
  const organization = reader.get(organizations, organizationId)?.row;
  return organization && standingWith(organization, teamsOfMember(reader, id));
}

const teamsOfMember = (reader: Reader, membershipId: string): DeepReadonly<Team>[] =>
  reader
    .list(teamMembers, 'membership', membershipId)
    .map(({ row }) => reader.get(teams, row.teamId)?.row)
    .filter((team) => team !== undefined);

/** The standings of a caller by organization, as far as they were worked out. */
const remembered = new WeakMap<Caller, Map<string, Standing | undefined>>();

/**
 * The same caller, whose standing in an organization is worked out once: for many checks in one write, as long as that
 * changes no organization, membership or team. A caller can be in thousands of teams.
 */
export function remembering(caller: Caller): Caller {
  const same = { ...caller };
  remembered.set(same, new Map());
  return same;
}

/** Of a user, whoever asks. */
export function userStanding(
  reader: Reader,
  userId: string,
  organization: DeepReadonly<Organization>,
): Standing | undefined {
  const membership = reader.find(memberships, 'pair', membershipPair(organization.id, userId));
  return membership && standingWith(organization, teamsOfMember(reader, membership.row.id));
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
    const row = reader.find(teamWorkspaces, 'pair', teamWorkspacePair(team.id, workspaceId))?.row;
    contributions.push(...teamContributions(organization, team, row));
  }
  return contributions;
}

/** What a team of the organization has on a workspace where `row` is its row; `undefined`: it has none there. */
export function teamContributions(
  organization: DeepReadonly<Organization>,
  { id: teamId, organizationAccess }: DeepReadonly<Team>,
  row: DeepReadonly<TeamWorkspace> | undefined,
): Contribution[] {
  const contributions = teamId === organization.ownersTeamId ? [ownerContribution(teamId)] : [];
  contributions.push(...permissionContributions(teamId, organizationAccess));
  if (row !== undefined) {
    const { id, expiresAtMs } = row;
    const end = expiresAtMs === undefined ? {} : { expiresAtMs };
    contributions.push({ source: { kind: 'team-workspace', teamId, id, ...end }, access: row });
  }
  return contributions;
}

/** Their access to a workspace of the organization; `undefined`: it does not exist for them. */
export const accessOn = (reader: Reader, standing: Standing, workspaceId: string): Effective | undefined =>
  // There is nothing above admin: no row has to be looked at.
  standing.permissions.has('manage-workspaces')
    ? ADMIN
    : effectiveAccess(contributionsOn(reader, standing, workspaceId));
