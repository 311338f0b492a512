/** The rows of the access matrix: one per workspace, with the access of teams and its sources [DOC-67]. */
import { Type } from 'typebox';
import { filterInSlices, mapInSlices, type Steps, sortInSlices, visitInSlices } from '../../state/clock/slices.ts';
import { LIST_ELEMENT_BYTES } from '../../state/limits.ts';
import { listInSlices } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { accessToWorkspace, type CallerRole, teamContributions } from '../authorization/caller.ts';
import { type Contribution, effectiveAccess } from '../authorization/effective-access.ts';
import { canManageTeamAccess, visibleTeams } from '../authorization/permissions.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { type Team, teams } from '../tables/team.ts';
import { ACCESS_LEVELS, teamWorkspacePair, teamWorkspaces } from '../tables/team-workspace.ts';
import type { Workspace } from '../tables/workspace.ts';
import { teamsInOrder } from '../teams/list-teams.ts';
import { sourceSchema, sourceToJson } from './effective-access-to-json.ts';

const MATRIX_ROWS = 'access-matrix-rows';

export const matrixRowSchema = resourceSchema(MATRIX_ROWS, 'AccessMatrixRow', {
  attributes: {
    name: Type.String({ description: 'The name of the workspace.' }),
    teams: Type.Array(
      Type.Object(
        {
          team: Type.String({ description: 'The ID of the team.' }),
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
 * Returns the matrix rows of some workspaces. For workspaces that the role administers, a row has every team with a
 * `team-workspaces` row, including secret teams, and every other visible team with access. For other workspaces it has
 * the role's own teams [AUTHZ-38].
 */
export function* accessMatrixToJson(
  reader: Snapshot,
  role: CallerRole,
  workspaces: readonly Stored<Workspace>[],
): Steps<readonly Resource[]> {
  const { organization } = role;
  const all = yield* organizationTeams(reader, role);
  const everywhere = visibleTeams(role, all.everywhere).flatMap(({ id }) => all.byId.get(id) ?? []);
  const cellsForAdmin = function* (id: string) {
    // One lookup for all rows of the workspace, instead of one per team.
    const listed = yield* listInSlices(reader, teamWorkspaces, 'workspace', id);
    const rows = new Map(listed.map(({ row }) => [row.teamId, row]));
    const withRow = [...rows.keys()].flatMap((teamId) => all.byId.get(teamId) ?? []);
    const others = everywhere.filter(({ team }) => !rows.has(team.id));
    const ordered = yield* sortInSlices([...withRow, ...others], (a, b) => a.position - b.position);
    const cells: Cell[] = [];
    yield* visitInSlices(ordered, ({ team }) => {
      cells.push(...cellToJson(team, teamContributions(organization, team, rows.get(team.id))));
    });
    return cells;
  };
  const cellsForMember = (team: DeepReadonly<Team>, id: string) => {
    const row = reader.find(teamWorkspaces, 'pair', teamWorkspacePair(team.id, id))?.row;
    return cellToJson(team, teamContributions(organization, team, row));
  };
  const rows: Resource[] = [];
  for (const { row } of workspaces) {
    const { id, name } = row;
    yield;
    const [access] = yield* mapInSlices([id], () => accessToWorkspace(reader, role, id));
    const cells = canManageTeamAccess(access)
      ? yield* cellsForAdmin(id)
      : (yield* mapInSlices(role.teams, (team) => cellsForMember(team, id))).flat();
    rows.push({
      id,
      type: MATRIX_ROWS,
      attributes: { name, teams: cells },
      relationships: { workspace: { data: { id, type: 'workspaces' } } },
    });
  }
  return rows;
}

interface OrderedTeam {
  readonly team: DeepReadonly<Team>;
  /** The position in the organization's order of creation. */
  readonly position: number;
}

interface OrganizationTeams {
  readonly byId: ReadonlyMap<string, OrderedTeam>;
  /** The teams with access to every workspace through an organization permission. */
  readonly everywhere: readonly DeepReadonly<Team>[];
}

/** Returns the teams of an organization. Cached until a team changes, because every page of the matrix needs them. */
function organizationTeams(reader: Snapshot, { organization }: CallerRole): Steps<OrganizationTeams> {
  const read = function* (): Steps<OrganizationTeams> {
    const ordered = yield* teamsInOrder(reader, organization.id);
    const byId = new Map<string, OrderedTeam>();
    yield* visitInSlices(ordered, (team) => void byId.set(team.id, { team, position: byId.size }));
    const givesAccess = (team: DeepReadonly<Team>): boolean =>
      teamContributions(organization, team, undefined).length > 0;
    return { byId, everywhere: yield* filterInSlices(ordered, givesAccess) };
  };
  const bytesOf = ({ byId }: OrganizationTeams): number => byId.size * LIST_ELEMENT_BYTES;
  return reader.memoizeWhileUnchangedInSlices(teams, `matrix of ${organization.id}`, read, bytesOf);
}

type Cell = ReturnType<typeof cellToJson>[number];

/** Returns the cell of a team, or no cell if the team has no access [AUTHZ-37]. */
function cellToJson({ id: team }: DeepReadonly<Team>, contributions: readonly Contribution[]) {
  const effective = effectiveAccess(contributions);
  if (effective === undefined) return [];
  return [{ team, access: effective.access, sources: contributions.map(({ source }) => sourceToJson(source)) }];
}
