/** The answer to a complete set: the resulting rows, and the differences to the previous ones [TEAM-81, TEAM-82]. */
import { Type } from 'typebox';
import type { Steps } from '../../../state/clock/slices.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { canSeeTeam } from '../../authorization/permissions.ts';
import {
  teamWorkspaceSchema,
  teamWorkspacesDocument,
  teamWorkspaceToJson,
} from '../../documents/team-workspace-to-json.ts';
import type { Document } from '../../jsonapi/documents.ts';
import { teams } from '../../tables/team.ts';
import type { FoundRow } from '../../team-workspaces/find-rows.ts';
import type { CompleteSetResult, Difference } from './put-complete-set.ts';

const CHANGES = ['added', 'updated', 'removed'] as const;
type Change = (typeof CHANGES)[number];

const count = Type.Integer({ minimum: 0 });
const optionalText = Type.Union([Type.String(), Type.Null()]);

export function completeSetSchema(terraform: boolean) {
  const row = teamWorkspaceSchema(terraform);
  const rowOrNone = Type.Union([row, Type.Null()]);
  const difference = Type.Object({
    change: Type.Enum([...CHANGES]),
    team: Type.Object({ id: Type.String(), name: optionalText }),
    before: rowOrNone,
    after: rowOrNone,
  });
  return Type.Object({
    data: Type.Array(row),
    meta: Type.Object({
      'dry-run': Type.Boolean(),
      counts: Type.Object({ added: count, updated: count, removed: count, unchanged: count }),
      differences: Type.Array(difference),
    }),
  });
}

export function* completeSetDocument(
  reader: Reader,
  set: CompleteSetResult,
  { dryRun, terraform }: { readonly dryRun: boolean; readonly terraform: boolean },
): Steps<Document> {
  const { after, differences } = set;
  const counts = { added: 0, updated: 0, removed: 0 };
  for (const difference of differences) counts[changeOf(difference)] += 1;
  const unchanged = after.length - counts.added - counts.updated;
  const shown: unknown[] = [];
  for (const difference of differences) {
    shown.push(differenceToJson(reader, difference, terraform));
    yield;
  }
  return {
    ...(yield* teamWorkspacesDocument(after, terraform)),
    meta: { 'dry-run': dryRun, counts: { ...counts, unchanged }, differences: shown },
  };
}

function differenceToJson(reader: Reader, difference: Difference, terraform: boolean) {
  const { before, after } = difference;
  const rowToJson = (row: FoundRow | undefined) => (row === undefined ? null : teamWorkspaceToJson(row, terraform));
  return {
    change: changeOf(difference),
    team: teamToJson(reader, after ?? before),
    before: rowToJson(before),
    after: rowToJson(after),
  };
}

/** Returns the ID of a team, and its name if the caller can see the team [TEAM-82]. */
function teamToJson(reader: Reader, found: FoundRow | undefined) {
  const id = found?.row.teamId ?? '';
  const team = reader.get(teams, id)?.row;
  const isVisible = found !== undefined && team !== undefined && canSeeTeam(found.role, team);
  return { id, name: isVisible ? team.name : null };
}

function changeOf({ before, after }: Difference): Change {
  if (before === undefined) return 'added';
  return after === undefined ? 'removed' : 'updated';
}
