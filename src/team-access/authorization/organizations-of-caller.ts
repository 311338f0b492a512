/** The organizations that a caller is in. */
import type { Reader } from '../../state/memory/reader.ts';
import { byCreation } from '../tables/creation-order.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teams } from '../tables/team.ts';
import type { Caller } from './caller.ts';
import { type Standing, standingOf } from './caller-role.ts';

/** In the order in which the caller came to them; for a user only those whose name contains `q`. */
export function listOrganizations(reader: Reader, caller: Caller, q: string): readonly Standing[] {
  const wanted = q.toLowerCase();
  return organizationIds(reader, caller)
    .map((id) => standingOf(reader, caller, id))
    .filter((standing) => standing !== undefined)
    .filter(({ organization }) => organization.name.toLowerCase().includes(wanted));
}

/** The ids of the organizations that a caller is in, in that order. */
export function organizationIds(reader: Reader, caller: Caller): readonly string[] {
  switch (caller.kind) {
    case 'organization':
      return [caller.organizationId];
    case 'team': {
      const team = reader.get(teams, caller.teamId);
      return team === undefined ? [] : [team.row.organizationId];
    }
    case 'user':
      return byCreation(reader.list(memberships, 'user', caller.userId)).map(({ row }) => row.organizationId);
  }
}
