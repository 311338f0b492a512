/** Lists the teams of an organization that a caller can see. */
import { Type } from 'typebox';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { filterInSlices, type Steps } from '../../state/clock/slices.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { visibleTeams } from '../authorization/permissions.ts';
import { listByCreation } from '../jsonapi/pagination.ts';
import { type Team, teams } from '../tables/team.ts';

export const NAMES_FILTER: Parameter = {
  name: 'filter[names]',
  description: 'Only teams with one of these names, separated by commas.',
  schema: Type.String(),
};

/** Returns the visible teams that match `q` and `filter[names]` [DOC-27], in order of creation. */
export function* listTeams(reader: Snapshot, role: CallerRole, query: Query): Steps<readonly DeepReadonly<Team>[]> {
  const q = (query.get('q') ?? '').toLowerCase();
  const names = query.get(NAMES_FILTER.name);
  const visible = visibleTeams(role, yield* teamsInOrder(reader, role.organization.id));
  if (q === '' && names === undefined) return visible;
  const nameSet = names === undefined ? undefined : new Set(names.toLowerCase().split(','));
  return yield* filterInSlices(visible, (team) => {
    const name = team.name.toLowerCase();
    return name.includes(q) && (nameSet?.has(name) ?? true);
  });
}

/**
 * Returns all teams of an organization in order of creation. The order is cached while no team changes, because there
 * can be tens of thousands and every page needs it.
 */
export function teamsInOrder(reader: Snapshot, organizationId: string): Steps<readonly DeepReadonly<Team>[]> {
  const read = function* (): Steps<readonly DeepReadonly<Team>[]> {
    return (yield* listByCreation(reader, teams, 'organization', organizationId)).map(({ row }) => row);
  };
  return reader.memoizeWhileUnchangedInSlices(teams, organizationId, read, ({ length }) => length * REFERENCE_BYTES);
}
