/** `GET /organizations/:name/teams`: the teams of an organization that exist for the caller. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Reader } from '../../state/reader.ts';
import { seesTeam } from '../authorization.ts';
import type { FoundTeam } from '../find.ts';
import { byCreation } from '../order.ts';
import type { Standing } from '../standing.ts';
import { teams } from './team.ts';

export const NAMES: Parameter = {
  name: 'filter[names]',
  description: 'Only those with one of these names, separated by commas.',
  schema: Type.String(),
};

/** In order of creation; whose name contains `q` and is one of `filter[names]`. */
export function listTeams(reader: Reader, standing: Standing, query: Query): readonly FoundTeam[] {
  const q = (query.get('q') ?? '').toLowerCase();
  const names = query.get(NAMES.name)?.toLowerCase().split(',');
  return byCreation(reader.list(teams, 'organization', standing.organization.id))
    .filter(({ row }) => seesTeam(standing, row))
    .filter(({ row }) => row.name.toLowerCase().includes(q) && (names?.includes(row.name.toLowerCase()) ?? true))
    .map(({ row }) => ({ standing, team: row }));
}
