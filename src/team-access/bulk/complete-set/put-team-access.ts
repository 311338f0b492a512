/**
 * `PUT /workspaces/:id/team-access`: makes the rows of a workspace those that are given, in one commit. The checks are
 * those of a single row, each step for the whole set: nothing is learned of a team that the caller may not know.
 */
import type { Reader } from '../../../state/memory/reader.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Caller } from '../../authorization/caller.ts';
import { remembering, type Standing } from '../../authorization/caller-role.ts';
import type { FoundWorkspace } from '../../authorization/find-visible.ts';
import { seesTeam } from '../../authorization/permissions.ts';
import { rowsDocument } from '../../documents/team-workspace-to-json.ts';
import type { Writing } from '../../http/request-pipeline.ts';
import type { Precondition } from '../../jsonapi/documents.ts';
import { type Fault, notFound, throwFaults } from '../../jsonapi/errors.ts';
import { checkEach, within } from '../../jsonapi/faults-within.ts';
import { byCreation } from '../../tables/creation-order.ts';
import { nameWithin } from '../../tables/organization.ts';
import { type Team, teams } from '../../tables/team.ts';
import { teamWorkspaces } from '../../tables/team-workspace.ts';
import { teamBeside, unfitFaults } from '../../team-workspaces/create-team-workspace.ts';
import { administeredWorkspace, type FoundRow } from '../../team-workspaces/find-row.ts';
import { type NewAccess, readNewAccess } from '../../team-workspaces/read-access.ts';
import { addRow, changeRow, removeRow } from '../../team-workspaces/write-row.ts';
import type { WantedRow } from './read-set.ts';

/** A row that is there afterwards and was not, or gives something else, or the other way round. */
export interface Difference {
  readonly before: FoundRow | undefined;
  readonly after: FoundRow | undefined;
}

/** What a set came to. */
export interface PutSet {
  readonly found: FoundWorkspace;
  /** All rows of the workspace, in order of creation. */
  readonly before: readonly FoundRow[];
  readonly after: readonly FoundRow[];
  /** Of the rows of the set in its order, then of those that are gone. */
  readonly differences: readonly Difference[];
}

/** Whose rows, in which state, and how they are read. */
export interface PutSetOptions {
  readonly workspaceId: string;
  readonly precondition: Precondition;
  readonly terraform: boolean;
}

/** @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function putTeamAccess(
  writing: Writing,
  { workspaceId, precondition, terraform }: PutSetOptions,
  wanted: readonly WantedRow[],
): PutSet {
  const { tx } = writing;
  const caller = remembering(writing.caller);
  const found = administeredWorkspace(tx, caller, workspaceId);
  const named = checkEach(wanted, (row) => ({ ...row, team: namedTeam(tx, caller, found.standing, row) }));
  const rows = checkEach(named, ({ attributes, place, ...row }) => ({
    ...row,
    given: within(place, () => readNewAccess(attributes, { terraform, now: tx.now })),
  }));
  throwFaults(teamFaults(found.standing, rows));
  const before = rowsOf(tx, found);
  precondition(() => rowsDocument(before, terraform));
  const differences = replaceRows(writing, found, before, rows);
  return { found, before, after: rowsOf(tx, found), differences };
}

/** What is wanted of a team that was found. */
interface FoundWant {
  readonly team: DeepReadonly<Team>;
  readonly teamPointer: string;
  readonly given: NewAccess;
}

/** By id any team beside the workspace; by name those alone that the caller sees. @throws JsonApiError `not-found` */
function namedTeam(
  tx: Reader,
  caller: Caller,
  standing: Standing,
  { team, teamPointer }: WantedRow,
): DeepReadonly<Team> {
  return within(
    () => teamPointer,
    () => {
      if ('id' in team) return teamBeside(tx, caller, standing, team.id);
      const found = tx.find(teams, 'name', nameWithin(standing.organization.id, team.name))?.row;
      if (found === undefined || !seesTeam(standing, found)) throw notFound();
      return found;
    },
  );
}

/** Teams that can have no row there, or stand in the set already. */
function teamFaults(standing: Standing, rows: readonly FoundWant[]): Fault[] {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  for (const { team, teamPointer } of rows) {
    faults.push(...unfitFaults(standing, team, teamPointer));
    if (seen.has(team.id)) {
      faults.push({ code: 'invalid-attribute', detail: 'Team is in the set twice', pointer: teamPointer });
    }
    seen.add(team.id);
  }
  return faults;
}

function replaceRows(
  writing: Writing,
  found: FoundWorkspace,
  before: readonly FoundRow[],
  wanted: readonly FoundWant[],
): Difference[] {
  const left = new Map(before.map((one) => [one.row.teamId, one]));
  const differences: Difference[] = [];
  for (const { team, given } of wanted) {
    const standing = left.get(team.id);
    left.delete(team.id);
    const after = standing === undefined ? addRow(writing, found, team.id, given) : changeRow(writing, standing, given);
    if (after.row !== standing?.row) differences.push({ before: standing, after });
  }
  for (const gone of left.values()) {
    removeRow(writing, gone);
    differences.push({ before: gone, after: undefined });
  }
  return differences;
}

const rowsOf = (reader: Reader, found: FoundWorkspace): FoundRow[] =>
  byCreation(reader.list(teamWorkspaces, 'workspace', found.workspace.id)).map(({ row }) => ({ ...found, row }));
