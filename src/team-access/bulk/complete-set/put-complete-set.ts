/**
 * Replaces the rows of a workspace in one commit [TEAM-75]. The checks are those of a single row. Each step checks the
 * whole set [TEAM-79], so that no error reveals a team that the caller may not know.
 */
import type { Steps } from '../../../state/clock/slices.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Caller, CallerRole } from '../../authorization/caller.ts';
import { canSeeTeam } from '../../authorization/permissions.ts';
import type { WriteContext } from '../../http/request-pipeline.ts';
import { checkAll, type ErrorObject, notFound, throwErrors, withErrorsAt } from '../../jsonapi/errors.ts';
import { sortByCreation } from '../../jsonapi/pagination.ts';
import { nameInOrganization } from '../../tables/organization.ts';
import { type Team, teams } from '../../tables/team.ts';
import { teamWorkspaces } from '../../tables/team-workspace.ts';
import {
  addRow,
  changeRow,
  removeRow,
  teamForWorkspace,
  unsuitableTeamErrors,
  withUnchangedBase,
} from '../../team-workspaces/change-team-workspace.ts';
import {
  type AdministeredWorkspace,
  administeredWorkspace,
  type ChangeableRow,
  type FoundRow,
} from '../../team-workspaces/find-rows.ts';
import { type NewAccess, readNewAccess } from '../../team-workspaces/read-access.ts';
import type { SetRow } from './read-complete-set.ts';

/** A row that was added (no `before`), updated, or removed (no `after`). */
export interface Difference {
  readonly before: FoundRow | undefined;
  readonly after: FoundRow | undefined;
}

export interface CompleteSetResult {
  /** All rows of the workspace in order of creation. */
  readonly before: readonly FoundRow[];
  readonly after: readonly FoundRow[];
  /** The added and updated rows in the order of the set, followed by the removed rows. */
  readonly differences: readonly Difference[];
}

export interface CompleteSetOptions {
  readonly workspaceId: string;
  /** Checks `If-Match` for the current rows. @throws JsonApiError `precondition-failed` */
  readonly precondition: (before: readonly FoundRow[]) => Steps<void>;
  readonly terraform: boolean;
}

/** Checks and writes a complete set. @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function* putCompleteSet(
  context: WriteContext,
  { workspaceId, precondition, terraform }: CompleteSetOptions,
  setRows: readonly SetRow[],
): Steps<CompleteSetResult> {
  const { tx, caller } = context;
  const found = administeredWorkspace(tx, caller, workspaceId);
  const withTeams = yield* checkAll(setRows, (row) => ({ ...row, team: findTeam(tx, caller, found.role, row) }));
  const rows = yield* checkAll(withTeams, ({ attributes, place, ...row }) => ({
    ...row,
    values: withErrorsAt(place, () => readNewAccess(attributes, { terraform, now: tx.now })),
  }));
  throwErrors(teamErrors(found.role, rows));
  const before = rowsOf(tx, found);
  yield;
  yield* precondition(before);
  const differences = yield* replaceRows(context, found, before, rows);
  return { before, after: rowsOf(tx, found), differences };
}

interface ResolvedRow {
  readonly team: DeepReadonly<Team>;
  readonly teamPointer: string;
  readonly values: NewAccess;
}

/** Finds any team of the organization by ID, only visible ones by name [TEAM-76]. @throws JsonApiError `not-found` */
function findTeam(tx: Reader, caller: Caller, role: CallerRole, { team, teamPointer }: SetRow): DeepReadonly<Team> {
  return withErrorsAt(
    () => teamPointer,
    () => {
      if ('id' in team) return teamForWorkspace(tx, caller, role, team.id);
      const found = tx.find(teams, 'name', nameInOrganization(role.organization.id, team.name))?.row;
      if (found === undefined || !canSeeTeam(role, found)) throw notFound();
      return found;
    },
  );
}

/** Rejects teams that cannot have a row and teams that occur twice [TEAM-80]. */
function teamErrors(role: CallerRole, rows: readonly ResolvedRow[]): ErrorObject[] {
  const seen = new Set<string>();
  const errors: ErrorObject[] = [];
  for (const { team, teamPointer } of rows) {
    errors.push(...unsuitableTeamErrors(role, team, teamPointer));
    if (seen.has(team.id)) {
      errors.push({ code: 'invalid-attribute', detail: 'Team is in the set twice', pointer: teamPointer });
    }
    seen.add(team.id);
  }
  return errors;
}

function* replaceRows(
  context: WriteContext,
  found: AdministeredWorkspace,
  before: readonly ChangeableRow[],
  rows: readonly ResolvedRow[],
): Steps<Difference[]> {
  const remaining = new Map(before.map((one) => [one.row.teamId, one]));
  const differences: Difference[] = [];
  for (const { team, values } of rows) {
    yield;
    const existing = remaining.get(team.id);
    remaining.delete(team.id);
    const after =
      existing === undefined
        ? addRow(context, found, team.id, values)
        : changeRow(context, existing, withUnchangedBase(existing.row, values));
    if (after.row !== existing?.row) differences.push({ before: existing, after });
  }
  for (const removed of remaining.values()) {
    yield;
    removeRow(context, removed);
    differences.push({ before: removed, after: undefined });
  }
  return differences;
}

const rowsOf = (reader: Reader, found: AdministeredWorkspace): ChangeableRow[] =>
  sortByCreation(reader.list(teamWorkspaces, 'workspace', found.workspace.id)).map(({ row }) => ({ ...found, row }));
