/** What giving a workspace a complete set of team access changes, as the API tells it. */
import { printable } from '../../output/output.ts';
import { accessWords, type Row } from './row-attributes.ts';

/** A team whose access changes. */
interface Difference {
  readonly change: 'added' | 'updated' | 'removed';
  /** Without a name: a team that the caller does not see. */
  readonly team: { readonly id: string; readonly name: string | null };
  readonly before: Row | null;
  readonly after: Row | null;
}

export type Counts = Readonly<Record<'added' | 'updated' | 'removed' | 'unchanged', number>>;

/** What is told of a set that was given, or would be. */
export interface SetMeta {
  readonly counts: Counts;
  readonly differences: readonly Difference[];
}

/** A workspace with what changes there. */
export interface WorkspaceDifference extends SetMeta {
  /** `acme/billing` */
  readonly workspace: string;
  readonly id: string;
}

const SIGNS = { added: '+', updated: '~', removed: '-' } as const;

/** A line for each team whose access changes, below its workspace. */
export const describeDifferences = (found: readonly WorkspaceDifference[]): string =>
  found
    .flatMap(({ workspace, differences }) => [
      `${printable(workspace)}${differences.length === 0 ? ': nothing changes' : ''}\n`,
      ...differences.map((one) => `  ${SIGNS[one.change]} ${printable(changeWords(one))}\n`),
    ])
    .join('');

function changeWords({ team, before, after }: Difference): string {
  const access = [before, after].filter((row) => row !== null).map(({ attributes }) => accessWords(attributes));
  return `${team.name ?? team.id}: ${access.join(' -> ')}`;
}

/** `1 added, 2 removed` over all workspaces. */
export function countWords(found: readonly SetMeta[]): string {
  const total = (name: keyof Counts): number => found.reduce((sum, { counts }) => sum + counts[name], 0);
  return (['added', 'updated', 'removed'] as const)
    .filter((name) => total(name) > 0)
    .map((name) => `${total(name)} ${name}`)
    .join(', ');
}
