/** `GET /organizations/:name/teams`: the teams of an organization that exist for the caller. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { seenTeams } from '../authorization/permissions.ts';
import { byCreation } from '../tables/creation-order.ts';
import { type Team, teams } from '../tables/team.ts';

export const NAMES: Parameter = {
  name: 'filter[names]',
  description: 'Only those with one of these names, separated by commas.',
  schema: Type.String(),
};

/** In order of creation; whose name contains `q` and is one of `filter[names]`. */
export function listTeams(reader: Snapshot, standing: Standing, query: Query): readonly DeepReadonly<Team>[] {
  const q = (query.get('q') ?? '').toLowerCase();
  const names = query.get(NAMES.name);
  const seen = seenTeams(standing, teamsInOrder(reader, standing.organization.id));
  if (q === '' && names === undefined) return seen;
  const wanted = names === undefined ? undefined : new Set(names.toLowerCase().split(','));
  return seen.filter((team) => {
    const name = team.name.toLowerCase();
    return name.includes(q) && (wanted?.has(name) ?? true);
  });
}

/** All teams of an organization in order of creation. There may be tens of thousands, and every page needs their order. */
export const teamsInOrder = (reader: Snapshot, organizationId: string): readonly DeepReadonly<Team>[] =>
  reader.memoWhile(teams, organizationId, () =>
    byCreation(reader.list(teams, 'organization', organizationId)).map(({ row }) => row),
  );
