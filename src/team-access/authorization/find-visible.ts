/**
 * Finds what a caller names, in the picture of one reader; what they may not know of is not found. How long the answer
 * takes must not tell either whether it is there: the look-ups are the same. Where there is nothing to find, or outsiders
 * ask, what the caller is in their first organization stands in for what they would be around the thing. So somebody in
 * one organization makes the very same look-ups; with several, only that they have more teams in one than in another can
 * make a difference.
 */
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { notFound } from '../jsonapi/errors.ts';
import { nameEntry, nameWithin, organizations } from '../tables/organization.ts';
import { type Team, teams } from '../tables/team.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';
import type { Caller } from './caller.ts';
import { accessOn, lookHome, type Standing, standingAtHome, standingOf } from './caller-role.ts';
import type { Effective } from './effective-access.ts';
import { seesTeam, servesTeams } from './permissions.ts';

/** A team with what the caller is in its organization. */
export interface FoundTeam {
  readonly standing: Standing;
  readonly team: DeepReadonly<Team>;
}

/** A workspace with what the caller is in its organization, and may do on it. */
export interface FoundWorkspace {
  readonly standing: Standing;
  readonly workspace: DeepReadonly<Workspace>;
  readonly access: Effective;
}

/** The organization of that name, for its members. @throws JsonApiError `not-found` */
export function organizationNamed(reader: Reader, caller: Caller, name: string): Standing {
  const organization = reader.find(organizations, 'name', nameEntry(name));
  return standingAround(reader, caller, organization?.row.id);
}

/**
 * What the caller is in the organization of what they have named; `undefined`: there is no such thing.
 * @throws JsonApiError `not-found` for outsiders
 */
export function standingAround(reader: Reader, caller: Caller, organizationId: string | undefined): Standing {
  const standing = standingOf(reader, caller, organizationId ?? NOWHERE);
  if (standing !== undefined) return standing;
  standingAtHome(reader, caller);
  throw notFound();
}

/** Names nothing. */
const NOWHERE = '';

/** Likewise, for what belongs to team management. @throws JsonApiError `not-found` */
export function organizationWithTeams(reader: Reader, caller: Caller, name: string): Standing {
  const standing = organizationNamed(reader, caller, name);
  if (!servesTeams(standing)) throw notFound();
  return standing;
}

/** The team with that id, for those to whom it exists. @throws JsonApiError `not-found` */
export function teamById(reader: Reader, caller: Caller, id: string): FoundTeam {
  const found = teamKnown(reader, caller, id);
  if (found === undefined) throw notFound();
  return found;
}

/** Likewise; `undefined` where it does not exist for them. */
export function teamKnown(reader: Reader, caller: Caller, id: string): FoundTeam | undefined {
  const team = reader.get(teams, id)?.row;
  const standing = standingOf(reader, caller, team?.organizationId ?? NOWHERE);
  if (team === undefined || standing === undefined) {
    standingAtHome(reader, caller);
    return undefined;
  }
  if (servesTeams(standing) && seesTeam(standing, team)) return { standing, team };
  lookHome(reader, caller);
  return undefined;
}

/** The workspace with that id, for those who have any access to it. @throws JsonApiError `not-found` */
export function workspaceById(reader: Reader, caller: Caller, id: string): FoundWorkspace {
  const workspace = reader.get(workspaces, id)?.row;
  const standing = standingOf(reader, caller, workspace?.organizationId ?? NOWHERE);
  if (standing === undefined) {
    const home = standingAtHome(reader, caller);
    if (home !== undefined) accessOn(reader, home, NOWHERE);
    throw notFound();
  }
  try {
    return accessible(reader, standing, workspace);
  } catch (refusal) {
    lookHome(reader, caller);
    throw refusal;
  }
}

/** The workspace of that name. @throws JsonApiError `not-found` */
export function workspaceNamed(reader: Reader, caller: Caller, organization: string, name: string): FoundWorkspace {
  const standing = organizationNamed(reader, caller, organization);
  const stored = reader.find(workspaces, 'name', nameWithin(standing.organization.id, name));
  return accessible(reader, standing, stored?.row);
}

function accessible(
  reader: Reader,
  standing: Standing,
  workspace: DeepReadonly<Workspace> | undefined,
): FoundWorkspace {
  const access = accessOn(reader, standing, workspace?.id ?? NOWHERE);
  if (workspace === undefined || access === undefined) throw notFound();
  return { standing, workspace, access };
}
