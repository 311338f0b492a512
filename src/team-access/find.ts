/** Finds what a caller names, in the picture of one reader; what they may not know of is not found. */
import type { Reader } from '../state/reader.ts';
import type { DeepReadonly, Stored } from '../state/table.ts';
import { seesTeam, servesTeams } from './authorization.ts';
import type { Caller } from './caller.ts';
import type { Effective } from './effective.ts';
import { notFound } from './jsonapi/errors.ts';
import { nameEntry, nameWithin, organizations } from './organizations/organization.ts';
import { accessOn, type Standing, standingOf } from './standing.ts';
import { type Team, teams } from './teams/team.ts';
import { type Workspace, workspaces } from './workspaces/workspace.ts';

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
  const standing = organization && standingOf(reader, caller, organization.row.id);
  if (standing === undefined) throw notFound();
  return standing;
}

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
  const standing = team && standingOf(reader, caller, team.organizationId);
  if (team === undefined || standing === undefined) return undefined;
  return servesTeams(standing) && seesTeam(standing, team) ? { standing, team } : undefined;
}

/** The workspace with that id, for those who have any access to it. @throws JsonApiError `not-found` */
export function workspaceById(reader: Reader, caller: Caller, id: string): FoundWorkspace {
  return accessible(reader, caller, reader.get(workspaces, id));
}

/** The workspace of that name. @throws JsonApiError `not-found` */
export function workspaceNamed(reader: Reader, caller: Caller, organization: string, name: string): FoundWorkspace {
  const { organization: found } = organizationNamed(reader, caller, organization);
  return accessible(reader, caller, reader.find(workspaces, 'name', nameWithin(found.id, name)));
}

function accessible(reader: Reader, caller: Caller, stored: Stored<Workspace> | undefined): FoundWorkspace {
  const standing = stored && standingOf(reader, caller, stored.row.organizationId);
  const access = standing && accessOn(reader, standing, stored.row.id);
  if (stored === undefined || standing === undefined || access === undefined) throw notFound();
  return { standing, workspace: stored.row, access };
}
