/** Formats the changes that a complete set of team access makes to a workspace. */
import { printable } from '../../output/output.ts';
import { describeAccess, type Row } from './row-attributes.ts';

interface Difference {
  readonly change: 'added' | 'updated' | 'removed';
  /** The name is null if the caller cannot see the team. */
  readonly team: { readonly id: string; readonly name: string | null };
  readonly before: Row | null;
  readonly after: Row | null;
}

export type Counts = Readonly<Record<'added' | 'updated' | 'removed' | 'unchanged', number>>;

/** The `meta` member of a response to a complete set, applied or as a dry run. */
export interface SetMeta {
  readonly counts: Counts;
  readonly differences: readonly Difference[];
}

export interface WorkspaceDifference extends SetMeta {
  /** `acme/billing` */
  readonly workspace: string;
  readonly id: string;
}

const SIGNS = { added: '+', updated: '~', removed: '-' } as const;

/** Formats each workspace, followed by one line per team whose access changes. */
export const describeDifferences = (found: readonly WorkspaceDifference[]): string =>
  found
    .flatMap(({ workspace, differences }) => [
      `${printable(workspace)}${differences.length === 0 ? ': no changes' : ''}\n`,
      ...differences.map((one) => `  ${SIGNS[one.change]} ${printable(describeChange(one))}\n`),
    ])
    .join('');

function describeChange({ team, before, after }: Difference): string {
  const access = [before, after].filter((row) => row !== null).map(({ attributes }) => describeAccess(attributes));
  return `${team.name ?? team.id}: ${access.join(' -> ')}`;
}

/** Formats the sums over all workspaces: `1 added, 2 removed`. */
export function describeCounts(found: readonly SetMeta[]): string {
  const total = (name: keyof Counts): number => found.reduce((sum, { counts }) => sum + counts[name], 0);
  return (['added', 'updated', 'removed'] as const)
    .filter((name) => total(name) > 0)
    .map((name) => `${total(name)} ${name}`)
    .join(', ');
}
