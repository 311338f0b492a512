/** Which team may do what on which workspace: a line for each workspace, with the teams that have access to it. */
import { Type } from 'typebox';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import {
  accessOn,
  contributionsOn,
  type Standing,
  standingWith,
  teamContributions,
} from '../authorization/caller-role.ts';
import { type Contribution, effectiveAccess } from '../authorization/effective-access.ts';
import { changesRows, seenTeams } from '../authorization/permissions.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { ACCESS_LEVELS } from '../tables/access.ts';
import { type Team, teams } from '../tables/team.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';
import type { Workspace } from '../tables/workspace.ts';
import { teamsInOrder } from '../teams/list-teams.ts';
import { showSource, sourceSchema } from './effective-access-to-json.ts';

const MATRIX_ROWS = 'access-matrix-rows';

export const matrixRowSchema = resourceSchema(MATRIX_ROWS, 'AccessMatrixRow', {
  attributes: {
    name: Type.String({ description: "The workspace's name." }),
    teams: Type.Array(
      Type.Object(
        {
          team: Type.String({ description: 'Its id.' }),
          access: Type.Enum([...ACCESS_LEVELS]),
          sources: Type.Array(sourceSchema),
        },
        { title: 'AccessMatrixCell' },
      ),
    ),
  },
  relationships: { workspace: toOne('workspaces') },
});

/**
 * Admins of a workspace see what every team with a row there has, by its bare id, and every other team that exists for
 * them; others what their own teams have.
 */
export function showMatrix(
  reader: Snapshot,
  standing: Standing,
  workspaces: readonly Stored<Workspace>[],
): readonly Resource[] {
  const { organization } = standing;
  const ofAll = teamsOfAll(reader, standing);
  const everywhere = seenTeams(standing, ofAll.everywhere).flatMap(({ id }) => ofAll.byId.get(id) ?? []);
  const cellsOfAll = (id: string) => {
    // One list of the workspace's rows, instead of a search for the row of each team.
    const rows = new Map(reader.list(teamWorkspaces, 'workspace', id).map(({ row }) => [row.teamId, row]));
    const named = [...rows.keys()].flatMap((teamId) => ofAll.byId.get(teamId) ?? []);
    const others = everywhere.filter(({ team }) => !rows.has(team.id));
    return [...named, ...others]
      .sort((a, b) => a.position - b.position)
      .flatMap(({ team }) => showCell(team, teamContributions(organization, team, rows.get(team.id))));
  };
  const cellsOfOwn = (id: string) =>
    standing.teams.flatMap((team) => showCell(team, contributionsOn(reader, standingWith(organization, [team]), id)));
  return workspaces.map(({ row: { id, name } }) => {
    const cells = changesRows(accessOn(reader, standing, id)) ? cellsOfAll(id) : cellsOfOwn(id);
    return {
      id,
      type: MATRIX_ROWS,
      attributes: { name, teams: cells },
      relationships: { workspace: { data: { id, type: 'workspaces' } } },
    };
  });
}

interface PlacedTeam {
  readonly team: DeepReadonly<Team>;
  /** Among the teams of the organization, in order of creation. */
  readonly position: number;
}

interface TeamsOfAll {
  readonly byId: ReadonlyMap<string, PlacedTeam>;
  /** Those with access to every workspace, row or not. */
  readonly everywhere: readonly DeepReadonly<Team>[];
}

/** The teams of an organization, kept while no team changes: most have nothing on most workspaces. */
const teamsOfAll = (reader: Snapshot, { organization }: Standing): TeamsOfAll =>
  reader.memoWhile(teams, `matrix of ${organization.id}`, () => {
    const all = teamsInOrder(reader, organization.id);
    return {
      byId: new Map(all.map((team, position) => [team.id, { team, position }])),
      everywhere: all.filter((team) => teamContributions(organization, team, undefined).length > 0),
    };
  });

/** What a team has; nothing where it has no access. */
function showCell({ id: team }: DeepReadonly<Team>, contributions: readonly Contribution[]) {
  const effective = effectiveAccess(contributions);
  if (effective === undefined) return [];
  return [{ team, access: effective.access, sources: contributions.map(({ source }) => showSource(source)) }];
}
