/**
 * The caller of a request: found by its bearer token, and its role in an organization, which consists of teams,
 * permissions, and the resulting access to workspaces. Roles are computed from rows on each call, except for callers
 * from `withCachedRoles`.
 */
import { hashSecret } from '../../credentials/ids-and-secrets.ts';
import { SECRET_CHARACTERS_MAX } from '../../credentials/limits.ts';
import { users, userTokens } from '../../credentials/user.ts';
import type { Call } from '../../http/call.ts';
import { NeedsSteps, visitInSlices } from '../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { TEAMS_AT_ONCE } from '../limits.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { acceptsUserTokens, type Organization, organizations } from '../tables/organization.ts';
import { ALL_PERMISSIONS, type OrganizationPermission, withImplied } from '../tables/organization-access.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { type Team, type TeamMember, teamMembers, teams } from '../tables/team.ts';
import { type TeamWorkspace, teamWorkspacePair, teamWorkspaces } from '../tables/team-workspace.ts';
import {
  ADMIN_ACCESS,
  type Contribution,
  type EffectiveAccess,
  effectiveAccess,
  ownerContribution,
  permissionContributions,
} from './effective-access.ts';

export type Caller =
  | { readonly kind: 'user'; readonly userId: string; readonly siteAdmin: boolean; readonly tokenId: string }
  | { readonly kind: 'team'; readonly teamId: string; readonly tokenId: string }
  | { readonly kind: 'organization'; readonly organizationId: string; readonly tokenId: string };

const BEARER = /^bearer +(\S+) *$/i;

/** Returns the hash of a request's token, or `undefined` when the request has no token of a valid length. */
export function presentedTokenHash({ admitted, request }: Call): string | undefined {
  if (admitted?.secretHash !== undefined) return admitted.secretHash;
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  return token === undefined || token.length > SECRET_CHARACTERS_MAX ? undefined : hashSecret(token);
}

/**
 * Returns the caller to whom a token belongs, or `undefined` when the token is unknown, expired or revoked, or the
 * user is suspended [AUTHZ-87].
 */
export function findCaller(reader: Reader, secretHash: string | undefined): Caller | undefined {
  if (secretHash === undefined) return undefined;
  const userToken = reader.find(userTokens, 'secretHash', secretHash)?.row;
  if (userToken !== undefined) {
    const user = reader.get(users, userToken.userId)?.row;
    if (user === undefined || user.suspendedTime !== undefined) return undefined;
    return { kind: 'user', userId: user.id, siteAdmin: user.siteAdmin, tokenId: userToken.id };
  }
  const token = reader.find(apiTokens, 'secretHash', secretHash)?.row;
  if (token?.teamId !== undefined) return { kind: 'team', teamId: token.teamId, tokenId: token.id };
  if (token?.organizationId === undefined) return undefined;
  return { kind: 'organization', organizationId: token.organizationId, tokenId: token.id };
}

/** Returns the caller to whom a token belongs. @throws JsonApiError `unauthorized` */
export function authenticate(reader: Reader, secretHash: string | undefined): Caller {
  const caller = findCaller(reader, secretHash);
  if (caller === undefined) throw unauthorized();
  return caller;
}

/** Returns the error of a request without a valid token ([TEAM-35]). */
const unauthorized = (): JsonApiError => new JsonApiError([{ code: 'unauthorized' }], ['WWW-Authenticate', 'Bearer']);

/** Returns the ID of the user, team or organization, for the audit log and the rate limit. */
export function callerId(caller: Caller): string {
  switch (caller.kind) {
    case 'user':
      return caller.userId;
    case 'team':
      return caller.teamId;
    case 'organization':
      return caller.organizationId;
  }
}

export interface CallerRole {
  readonly organization: DeepReadonly<Organization>;
  /** Whether the caller is in the `owners` team, or presents a token of that team or of the organization. */
  readonly owner: boolean;
  /** The caller's teams. Empty with the organization's token. */
  readonly teams: readonly DeepReadonly<Team>[];
  /** The organization permissions of these teams, with those that they imply. */
  readonly permissions: ReadonlySet<OrganizationPermission>;
  /** Present for the person that an invitation names. They may only read, accept and decline the invitation. */
  readonly isInvited?: true;
}

/** Returns the caller's role in an organization, or `undefined` when the caller does not belong to it. */
export const callerRole = (reader: Reader, caller: Caller, organizationId: string): CallerRole | undefined =>
  cachedRole(caller, organizationId, () => computeRole(reader, caller, organizationId));

function cachedRole(caller: Caller, key: string, compute: () => CallerRole | undefined): CallerRole | undefined {
  const cached = caches.get(caller)?.roles;
  if (cached === undefined) return compute();
  if (!cached.has(key)) cached.set(key, compute());
  return cached.get(key);
}

function computeRole(reader: Reader, caller: Caller, organizationId: string): CallerRole | undefined {
  switch (caller.kind) {
    case 'organization':
      return caller.organizationId === organizationId ? organizationTokenRole(reader, organizationId) : undefined;
    case 'team': {
      const team = reader.get(teams, caller.teamId)?.row;
      return team?.organizationId === organizationId ? teamTokenRole(reader, team) : undefined;
    }
    case 'user': {
      const membership = reader.find(memberships, 'pair', membershipPair(organizationId, caller.userId))?.row;
      const role = membership && memberRole(reader, caller, membership);
      return role !== undefined && acceptsUserTokens(role.organization) ? role : undefined;
    }
  }
}

/** Returns the caller's role in their first organization, or `undefined` when they belong to none. */
export const homeRole = (reader: Reader, caller: Caller): CallerRole | undefined =>
  cachedRole(caller, HOME, () => computeHomeRole(reader, caller));

function computeHomeRole(reader: Reader, caller: Caller): CallerRole | undefined {
  switch (caller.kind) {
    case 'organization':
      return organizationTokenRole(reader, caller.organizationId);
    case 'team': {
      const team = reader.get(teams, caller.teamId)?.row;
      return team && teamTokenRole(reader, team);
    }
    case 'user': {
      const membership = firstMembership(reader, caller.userId);
      return membership && memberRole(reader, caller, membership);
    }
  }
}

/** Makes the first lookup of `homeRole` and ignores the result. See `find-visible.ts` for the reason. */
export function dummyLookup(reader: Reader, caller: Caller): void {
  if (caller.kind === 'team') reader.get(teams, caller.teamId);
  else if (caller.kind === 'user') firstMembership(reader, caller.userId);
}

const firstMembership = (reader: Reader, userId: string): DeepReadonly<Membership> | undefined =>
  reader.list(memberships, 'user', userId, { limit: 1 })[0]?.row;

function organizationTokenRole(reader: Reader, organizationId: string): CallerRole | undefined {
  const organization = reader.get(organizations, organizationId)?.row;
  return organization && { organization, owner: true, teams: [], permissions: ALL_PERMISSIONS };
}

function teamTokenRole(reader: Reader, team: DeepReadonly<Team>): CallerRole | undefined {
  const organization = reader.get(organizations, team.organizationId)?.row;
  return organization && roleWithTeams(organization, [team]);
}

function memberRole(
  reader: Reader,
  caller: Caller,
  { id, organizationId }: DeepReadonly<Membership>,
): CallerRole | undefined {
  const organization = reader.get(organizations, organizationId)?.row;
  return organization && roleWithTeams(organization, teamsOfMember(reader, id, caller));
}

/** Returns the teams of a member. @throws NeedsSteps in a read that pauses, if they are many */
function teamsOfMember(reader: Reader, membershipId: string, caller: Caller | undefined): readonly MemberTeam[] {
  const manyTeams = caller && caches.get(caller)?.manyTeams;
  if (manyTeams === undefined) return withTeams(reader, reader.list(teamMembers, 'membership', membershipId));
  const known = manyTeams.get(membershipId);
  if (known !== undefined) return known;
  const rows = reader.list(teamMembers, 'membership', membershipId, { limit: TEAMS_AT_ONCE + 1 });
  if (rows.length <= TEAMS_AT_ONCE) return withTeams(reader, rows);
  throw new NeedsSteps(function* () {
    const memberTeams: MemberTeam[] = [];
    const all = yield* listInSlices(reader, teamMembers, 'membership', membershipId);
    yield* visitInSlices(all, (row) => void memberTeams.push(...withTeams(reader, [row])));
    manyTeams.set(membershipId, memberTeams);
    contributionsOf.set(memberTeams, new Map());
  });
}

type MemberTeam = DeepReadonly<Team>;

const withTeams = (reader: Reader, rows: readonly Stored<TeamMember>[]): MemberTeam[] =>
  rows.map(({ row }) => reader.get(teams, row.teamId)?.row).filter((team) => team !== undefined);

/** The key of the cached home role, which is no ID of an organization. */
const HOME = 'home';

interface RoleCache {
  /** By organization ID. */
  readonly roles: Map<string, CallerRole | undefined>;
  /** The teams of members of more than TEAMS_AT_ONCE teams, by membership ID. Only in reads that pause. */
  readonly manyTeams: Map<string, readonly MemberTeam[]> | undefined;
}

/** The caches of callers from `withCachedRoles`. */
const caches = new WeakMap<Caller, RoleCache>();

/** The contributions to workspaces of the members of many teams in reads that pause, by the teams and the workspace. */
const contributionsOf = new WeakMap<readonly MemberTeam[], Map<string, readonly Contribution[]>>();

/**
 * Returns a copy of a caller whose roles are computed once per organization, because a caller can be in thousands of
 * teams. For a request that reads one state. A write must call `forgetRoles` after a change of a row of a role.
 * @param pauses whether the request is a read that can run in slices, and long lookups may throw NeedsSteps
 */
export function withCachedRoles(caller: Caller, { pauses = false } = {}): Caller {
  const copy = { ...caller };
  caches.set(copy, { roles: new Map(), manyTeams: pauses ? new Map() : undefined });
  return copy;
}

/** Returns a copy of a caller whose roles are computed on each call, for code whose number of lookups must not vary. */
export const withoutCachedRoles = (caller: Caller): Caller => ({ ...caller });

/** Drops the cached roles of a caller from `withCachedRoles`. */
export const forgetRoles = (caller: Caller): void => caches.get(caller)?.roles.clear();

/** Whether a cached role of the caller contains the team. */
export const hasCachedTeam = (caller: Caller, teamId: string): boolean =>
  caches
    .get(caller)
    ?.roles.values()
    .some((role) => role?.teams.some(({ id }) => id === teamId)) === true;

/** Returns the role of a user. `caller` asks for it. @throws NeedsSteps if the request is a read that pauses */
export function userRole(
  reader: Reader,
  userId: string,
  organization: DeepReadonly<Organization>,
  caller?: Caller,
): CallerRole | undefined {
  const membership = reader.find(memberships, 'pair', membershipPair(organization.id, userId));
  return membership && roleWithTeams(organization, teamsOfMember(reader, membership.row.id, caller));
}

export function roleWithTeams(
  organization: DeepReadonly<Organization>,
  memberTeams: readonly DeepReadonly<Team>[],
): CallerRole {
  const owner = memberTeams.some(({ id }) => id === organization.ownersTeamId);
  const permissions = owner ? ALL_PERMISSIONS : withImplied(memberTeams.flatMap((team) => team.organizationAccess));
  return { organization, owner, teams: memberTeams, permissions };
}

/**
 * Returns everything that gives a role access to a workspace of its organization.
 * @throws NeedsSteps in a read that pauses, if the role has many teams
 */
export function accessContributions(reader: Reader, role: CallerRole, workspaceId: string): readonly Contribution[] {
  const { organization, owner, teams: memberTeams } = role;
  if (owner && memberTeams.length === 0) return [ownerContribution(undefined)];
  const ofTeam = (team: MemberTeam): Contribution[] => {
    const row = reader.find(teamWorkspaces, 'pair', teamWorkspacePair(team.id, workspaceId))?.row;
    return teamContributions(organization, team, row);
  };
  const known = contributionsOf.get(memberTeams);
  if (known === undefined) return memberTeams.flatMap(ofTeam);
  const contributions = known.get(workspaceId);
  if (contributions !== undefined) return contributions;
  throw new NeedsSteps(function* () {
    const found: Contribution[] = [];
    yield* visitInSlices(memberTeams, (team) => void found.push(...ofTeam(team)));
    known.set(workspaceId, found);
  });
}

/** Returns everything that gives a team access to a workspace. `row` is the team's row there, if it has one. */
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

/** Returns a role's effective access to a workspace of its organization, or `undefined` without any access. */
export const accessToWorkspace = (
  reader: Reader,
  role: CallerRole,
  workspaceId: string,
): EffectiveAccess | undefined =>
  // This permission implies admin, the highest access, so rows need no lookup.
  role.permissions.has('manage-workspaces')
    ? ADMIN_ACCESS
    : effectiveAccess(accessContributions(reader, role, workspaceId));
