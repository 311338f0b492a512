/** `POST /team-workspaces`: gives a team access to a workspace. */
import { newId } from '../../credentials/secret.ts';
import type { Reader } from '../../state/reader.ts';
import { createdAccess } from '../access.ts';
import type { Caller } from '../caller.ts';
import { teamKnown } from '../find.ts';
import { type Fault, JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type GivenResource, readResource } from '../jsonapi/read-resource.ts';
import { EXPIRED_BATCH } from '../limits.ts';
import type { Writing } from '../serve.ts';
import type { Standing } from '../standing.ts';
import { teams } from '../teams/team.ts';
import { expireRows } from './expire-rows.ts';
import { administeredWorkspace, type FoundRow } from './find-row.ts';
import { readAccess } from './read-access.ts';
import { recordRow } from './record-row.ts';
import { TEAM_WORKSPACES } from './show-team-workspace.ts';
import { type TeamWorkspace, teamWorkspacePair, teamWorkspaces } from './team-workspace.ts';

/** The resource of a body that makes a row. @throws JsonApiError `invalid-body`, `invalid-attribute` */
export const readNewTeamWorkspace = (body: Uint8Array): GivenResource =>
  readResource(body, {
    type: TEAM_WORKSPACES,
    relationships: [
      { name: 'team', type: 'teams', label: 'Team' },
      { name: 'workspace', type: 'workspaces', label: 'Workspace' },
    ],
  });

/**
 * The order of the checks is fixed: nothing of what the caller may not see is learned from an earlier one.
 * @throws JsonApiError `not-found`, `invalid-attribute`
 */
export function createTeamWorkspace(
  { tx, caller, origin }: Writing,
  { attributes, relationships }: GivenResource,
  terraform: boolean,
): FoundRow {
  const teamId = relationships.get('team') ?? '';
  const workspaceId = relationships.get('workspace') ?? '';
  const found = administeredWorkspace(tx, caller, workspaceId);
  const { organization } = found.standing;
  const home = homeOf(tx, caller, found.standing, teamId);
  const body = readAccess(attributes, { terraform, now: tx.now });
  // A body without a level was refused.
  if (body.access === undefined) throw new TypeError('a new row has no level');
  if (home !== organization.id) throw teamFault({ detail: "Team must be of the workspace's organization" });
  if (teamId === organization.ownersTeamId) {
    throw teamFault({ detail: 'Team must not be owners, which has admin access to every workspace' });
  }
  const standing = tx.find(teamWorkspaces, 'pair', teamWorkspacePair(teamId, workspaceId))?.row;
  if (standing !== undefined) {
    throw teamFault({ detail: 'Team has already been taken', meta: { 'existing-id': standing.id } });
  }
  expireRows(tx, EXPIRED_BATCH);
  const row: TeamWorkspace = {
    ...createdAccess(body.access, body.attributes),
    id: tx.once(() => newId('tws')),
    teamId,
    workspaceId,
    ...(typeof body.expiresAtMs === 'number' && { expiresAtMs: body.expiresAtMs }),
    place: tx.position,
  };
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, organization.id, 'add_team', { after: row });
  return { ...found, row };
}

/**
 * The organization of a team that the caller names: who administers a workspace may name any team beside it, secret
 * ones too; of other organizations only what they know. @throws JsonApiError `not-found`
 */
function homeOf(reader: Reader, caller: Caller, { organization }: Standing, teamId: string): string {
  const team = reader.get(teams, teamId)?.row;
  if (team === undefined) throw notFound();
  if (team.organizationId !== organization.id && teamKnown(reader, caller, teamId) === undefined) throw notFound();
  return team.organizationId;
}

const teamFault = (more: Pick<Fault, 'detail' | 'meta'>): JsonApiError =>
  new JsonApiError([{ code: 'invalid-attribute', pointer: '/data/relationships/team', ...more }]);
