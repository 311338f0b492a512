/** `POST /team-workspaces`: gives a team access to a workspace. */
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { teamKnown } from '../authorization/find-visible.ts';
import { TEAM_WORKSPACES } from '../documents/team-workspace-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { type Fault, JsonApiError, notFound, throwFaults } from '../jsonapi/errors.ts';
import type { GivenResource, WantedResource } from '../jsonapi/read-resource.ts';
import { type Team, teams } from '../tables/team.ts';
import { teamWorkspacePair, teamWorkspaces } from '../tables/team-workspace.ts';
import { administeredWorkspace, type FoundRow } from './find-row.ts';
import { readNewAccess } from './read-access.ts';
import { addRow } from './write-row.ts';

/** What makes a row. */
export const NEW_TEAM_WORKSPACE: WantedResource = {
  type: TEAM_WORKSPACES,
  relationships: [
    { name: 'team', type: 'teams', label: 'Team' },
    { name: 'workspace', type: 'workspaces', label: 'Workspace' },
  ],
};

/** Where a body names the team of a row. */
const TEAM = '/data/relationships/team';

/**
 * The order of the checks is fixed: nothing of what the caller may not see is learned from an earlier one.
 * @throws JsonApiError `not-found`, `invalid-attribute`
 */
export function createTeamWorkspace(
  writing: Writing,
  { attributes, relationships }: GivenResource,
  terraform: boolean,
): FoundRow {
  const { tx, caller } = writing;
  const teamId = relationships.get('team') ?? '';
  const workspaceId = relationships.get('workspace') ?? '';
  const found = administeredWorkspace(tx, caller, workspaceId);
  const team = teamBeside(tx, caller, found.standing, teamId);
  const given = readNewAccess(attributes, { terraform, now: tx.now });
  throwFaults(unfitFaults(found.standing, team, TEAM));
  const standing = tx.find(teamWorkspaces, 'pair', teamWorkspacePair(teamId, workspaceId))?.row;
  if (standing !== undefined) {
    const meta = { 'existing-id': standing.id };
    throw new JsonApiError([{ code: 'invalid-attribute', detail: 'Team has already been taken', pointer: TEAM, meta }]);
  }
  return addRow(writing, found, teamId, given);
}

/**
 * The team that the caller names for a workspace which they administer: they may name any team of its organization,
 * secret ones too; of other organizations only what they know. @throws JsonApiError `not-found`
 */
export function teamBeside(
  reader: Reader,
  caller: Caller,
  { organization }: Standing,
  teamId: string,
): DeepReadonly<Team> {
  const team = reader.get(teams, teamId)?.row;
  // Asked also for what is not there: the look-ups are the same.
  const known = team?.organizationId === organization.id ? team : teamKnown(reader, caller, teamId)?.team;
  if (known === undefined) throw notFound();
  return known;
}

/** Why a team can have no row on a workspace of the organization. @param pointer where the body names it */
export function unfitFaults({ organization }: Standing, team: DeepReadonly<Team>, pointer: string): Fault[] {
  const fault = (detail: string): Fault[] => [{ code: 'invalid-attribute', detail, pointer }];
  if (team.organizationId !== organization.id) return fault("Team must be of the workspace's organization");
  if (team.id !== organization.ownersTeamId) return [];
  return fault('Team must not be owners, which has admin access to every workspace');
}
