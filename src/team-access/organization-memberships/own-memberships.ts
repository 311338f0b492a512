/** Lists the memberships and invitations of the calling user, in order of creation [AUTHZ-99]. */
import { users } from '../../credentials/user.ts';
import type { Query } from '../../http/call.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { pendingMembershipsOf } from '../authorization/invitations.ts';
import { membershipToJson } from '../documents/organization-membership-to-json.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import type { Linkage } from '../jsonapi/include.ts';
import { sortByCreation } from '../jsonapi/pagination.ts';
import { type Membership, memberships } from '../tables/organization-membership.ts';
import { teamMemberKey, teamMembers } from '../tables/team.ts';
import { ownMembership } from './change-membership.ts';
import { STATUS_FILTER } from './list-memberships.ts';

/** @throws JsonApiError `not-found` for callers who are not users */
export function ownMemberships(reader: Reader, caller: Caller, query: Query): readonly DeepReadonly<Membership>[] {
  const user = caller.kind === 'user' ? reader.get(users, caller.userId)?.row : undefined;
  if (user === undefined) throw notFound();
  const status = query.get(STATUS_FILTER.name) ?? '';
  const joined = status === '' || status === 'active' ? reader.list(memberships, 'user', user.id) : [];
  const pending = status === '' || status === 'invited' ? pendingMembershipsOf(reader, user) : [];
  return sortByCreation([...joined, ...pending]).map(({ row }) => row);
}

/** The status depends on the acceptance alone, because the caller has a token. */
export function ownMembershipToJson(
  reader: Reader,
  caller: Caller,
  membership: DeepReadonly<Membership>,
  linkage: Linkage,
): Resource {
  const found = ownMembership(reader, caller, membership);
  if (found === undefined) throw notFound();
  const { role } = found;
  const resource = membershipToJson(reader, role, membership, linkage);
  const inOwners = reader.get(teamMembers, teamMemberKey(role.organization.ownersTeamId, membership.userId));
  const status = role.isInvited === true ? 'invited' : 'active';
  return { ...resource, attributes: { ...resource.attributes, status, 'is-owner': inOwners !== undefined } };
}
