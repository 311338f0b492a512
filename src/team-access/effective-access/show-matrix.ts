/** Which team may do what on which workspace: a line for each workspace, with the teams that have access to it. */
import { Type } from 'typebox';
import type { Reader } from '../../state/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { ACCESS_LEVELS } from '../access.ts';
import { changesRows } from '../authorization.ts';
import { effectiveAccess } from '../effective.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { byCreation } from '../order.ts';
import { accessOn, contributionsOn, type Standing, standingWith } from '../standing.ts';
import { type Team, teams } from '../teams/team.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import { showSource, sourceSchema } from './show-effective-access.ts';

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

/** Admins of a workspace see what every team has there, by its bare id; others what their own teams have. */
export function showMatrix(
  reader: Reader,
  standing: Standing,
  workspaces: readonly Stored<Workspace>[],
): readonly Resource[] {
  const standings = (some: readonly DeepReadonly<Team>[]): readonly Standing[] =>
    some.map((team) => standingWith(standing.organization, [team]));
  const own = standings(standing.teams);
  const everyTeam = standings(
    byCreation(reader.list(teams, 'organization', standing.organization.id)).map(({ row }) => row),
  );
  return workspaces.map(({ row: { id, name } }) => {
    const known = changesRows(accessOn(reader, standing, id)) ? everyTeam : own;
    return {
      id,
      type: MATRIX_ROWS,
      attributes: { name, teams: known.flatMap((of) => showCell(reader, of, id)) },
      relationships: { workspace: { data: { id, type: 'workspaces' } } },
    };
  });
}

/** What the one team of a standing has; nothing where it has no access. */
function showCell(reader: Reader, of: Standing, workspaceId: string) {
  const contributions = contributionsOn(reader, of, workspaceId);
  const effective = effectiveAccess(contributions);
  const team = of.teams[0]?.id;
  if (effective === undefined || team === undefined) return [];
  return [{ team, access: effective.access, sources: contributions.map(({ source }) => showSource(source)) }];
}
