/** How is shown what became of the rows of a workspace. */
import { Type } from 'typebox';
import type { Reader } from '../../../state/memory/reader.ts';
import { seesTeam } from '../../authorization/permissions.ts';
import { rowsDocument, showTeamWorkspace, teamWorkspaceSchema } from '../../documents/team-workspace-to-json.ts';
import type { Document } from '../../jsonapi/documents.ts';
import { teams } from '../../tables/team.ts';
import type { FoundRow } from '../../team-workspaces/find-row.ts';
import type { Difference, PutSet } from './put-team-access.ts';

const CHANGES = ['added', 'updated', 'removed'] as const;
type Change = (typeof CHANGES)[number];

const count = Type.Integer({ minimum: 0 });
const optionalText = Type.Union([Type.String(), Type.Null()]);

/** What answers a complete set. */
export function setAnswerSchema(terraform: boolean) {
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

/** The document that answers a complete set. */
export function setDocument(
  reader: Reader,
  set: PutSet,
  { dryRun, terraform }: { readonly dryRun: boolean; readonly terraform: boolean },
): Document {
  const { after, differences } = set;
  const counts = { added: 0, updated: 0, removed: 0 };
  for (const difference of differences) counts[changeOf(difference)] += 1;
  const unchanged = after.length - counts.added - counts.updated;
  return {
    ...rowsDocument(after, terraform),
    meta: {
      'dry-run': dryRun,
      counts: { ...counts, unchanged },
      differences: differences.map((difference) => showDifference(reader, difference, terraform)),
    },
  };
}

function showDifference(reader: Reader, difference: Difference, terraform: boolean) {
  const { before, after } = difference;
  const shown = (row: FoundRow | undefined) => (row === undefined ? null : showTeamWorkspace(row, terraform));
  return {
    change: changeOf(difference),
    team: showTeamName(reader, after ?? before),
    before: shown(before),
    after: shown(after),
  };
}

/** A secret team has no name for who does not see it. */
function showTeamName(reader: Reader, found: FoundRow | undefined) {
  const id = found?.row.teamId ?? '';
  const team = reader.get(teams, id)?.row;
  const seen = found !== undefined && team !== undefined && seesTeam(found.standing, team);
  return { id, name: seen ? team.name : null };
}

function changeOf({ before, after }: Difference): Change {
  if (before === undefined) return 'added';
  return after === undefined ? 'removed' : 'updated';
}
