/** Lists the teams of an organization that a caller can see. */
import { Type } from 'typebox';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { visibleTeams } from '../authorization/permissions.ts';
import { sortByCreation } from '../jsonapi/pagination.ts';
import { type Team, teams } from '../tables/team.ts';

export const NAMES_FILTER: Parameter = {
  name: 'filter[names]',
  description: 'Only teams with one of these names, separated by commas.',
  schema: Type.String(),
};

/** Returns the visible teams that match `q` and `filter[names]` [DOC-27], in order of creation. */
export function listTeams(reader: Snapshot, role: CallerRole, query: Query): readonly DeepReadonly<Team>[] {
  const q = (query.get('q') ?? '').toLowerCase();
  const names = query.get(NAMES_FILTER.name);
  const visible = visibleTeams(role, teamsInOrder(reader, role.organization.id));
  if (q === '' && names === undefined) return visible;
  const nameSet = names === undefined ? undefined : new Set(names.toLowerCase().split(','));
  return visible.filter((team) => {
    const name = team.name.toLowerCase();
    return name.includes(q) && (nameSet?.has(name) ?? true);
  });
}

/**
 * Returns all teams of an organization in order of creation. The order is cached while no team changes, because there
 * can be tens of thousands and every page needs it.
 */
export const teamsInOrder = (reader: Snapshot, organizationId: string): readonly DeepReadonly<Team>[] =>
  reader.memoizeWhileUnchanged(
    teams,
    organizationId,
    () => sortByCreation(reader.list(teams, 'organization', organizationId)).map(({ row }) => row),
    ({ length }) => length * REFERENCE_BYTES,
  );
