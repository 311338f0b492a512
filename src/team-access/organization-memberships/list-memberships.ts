/** Lists and counts the members of an organization. */
import { Type } from 'typebox';
import { addressOf, users } from '../../credentials/user.ts';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { filterInSlices, type Steps } from '../../state/clock/slices.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { membershipStatus, userOfMembership } from '../documents/organization-membership-to-json.ts';
import { listByCreation, NAME_FILTER } from '../jsonapi/pagination.ts';
import { type Membership, memberships } from '../tables/organization-membership.ts';

export const STATUS_FILTER: Parameter = {
  name: 'filter[status]',
  description: 'Only members with this status.',
  schema: Type.String(),
};
export const EMAIL_FILTER: Parameter = {
  name: 'filter[email]',
  description: 'Only members with one of these email addresses, separated by commas.',
  schema: Type.String(),
};

type Members = readonly DeepReadonly<Membership>[];
type StatusCounts = Readonly<Record<'total' | 'matching' | 'active' | 'invited', number>>;

/** Returns the members that match the filters [DOC-27], in order of creation, and `meta.status-counts` [DOC-53]. */
export function* listMemberships(
  reader: Snapshot,
  { organization }: CallerRole,
  query: Query,
): Steps<{ readonly all: Members; readonly counts: StatusCounts }> {
  const members = yield* membersInOrder(reader, organization.id);
  const all = yield* matchingMembers(reader, members, query);
  const invited = yield* countInvited(reader, members);
  const counts = { total: members.length, matching: all.length, active: members.length - invited, invited };
  return { all, counts };
}

/** Returns all members in order of creation. The order is cached, because there can be tens of thousands of members. */
function* membersInOrder(reader: Snapshot, organizationId: string): Steps<Members> {
  const read = function* (): Steps<Members> {
    return (yield* listByCreation(reader, memberships, 'organization', organizationId)).map(({ row }) => row);
  };
  // A table with orphans can contain memberships of deleted users, which only the reader hides.
  if (reader.mayHaveOrphans) return yield* read();
  return yield* reader.memoizeWhileUnchangedInSlices(
    memberships,
    organizationId,
    read,
    ({ length }) => length * REFERENCE_BYTES,
  );
}

/** Returns the number of invited members. The number is cached until a member or a user changes. */
function* countInvited(reader: Snapshot, members: Members): Steps<number> {
  const create = (): WeakMap<Members, number> => new WeakMap();
  const counted = reader.memoizeWhileUnchanged(users, 'invited', create, () => 0);
  const invited =
    counted.get(members) ??
    (yield* filterInSlices(members, (one) => membershipStatus(userOfMembership(reader, one)) === 'invited')).length;
  counted.set(members, invited);
  return invited;
}

function* matchingMembers(reader: Snapshot, members: Members, query: Query): Steps<Members> {
  const q = (query.get(NAME_FILTER.name) ?? '').toLowerCase();
  const emailFilter = query.get(EMAIL_FILTER.name);
  const status = query.get(STATUS_FILTER.name) ?? '';
  if (q === '' && emailFilter === undefined && status === '') return members;
  const emails = emailFilter === undefined ? undefined : new Set(emailFilter.toLowerCase().split(','));
  return yield* filterInSlices(members, (membership) => {
    const user = userOfMembership(reader, membership);
    const email = addressOf(user).toLowerCase();
    return (
      (user.username.toLowerCase().includes(q) || email.includes(q)) &&
      (emails?.has(email) ?? true) &&
      (status === '' || membershipStatus(user) === status)
    );
  });
}
