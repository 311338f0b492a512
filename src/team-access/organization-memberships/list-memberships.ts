/** `GET /organizations/:name/organization-memberships`: the members of an organization, and how many there are. */
import { Type } from 'typebox';
import { users } from '../../credentials/user.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { statusOf, userOf } from '../documents/organization-membership-to-json.ts';
import { Q } from '../organizations/endpoints.ts';
import { byCreation } from '../tables/creation-order.ts';
import { type Membership, memberships } from '../tables/organization-membership.ts';

export const STATUS: Parameter = {
  name: 'filter[status]',
  description: 'Only those with this status.',
  schema: Type.String(),
};
export const EMAIL: Parameter = {
  name: 'filter[email]',
  description: 'Only those with one of these e-mail addresses, separated by commas.',
  schema: Type.String(),
};

type Members = readonly DeepReadonly<Membership>[];

/** In order of creation. `counts` are of all members, but for `matching`, which is of those that are asked for. */
export function listMemberships(reader: Snapshot, { organization }: Standing, query: Query) {
  const everybody = membersInOrder(reader, organization.id);
  const all = matching(reader, everybody, query);
  const invited = invitedAmong(reader, everybody);
  const counts = { total: everybody.length, matching: all.length, active: everybody.length - invited, invited };
  return { all, counts };
}

/** There may be tens of thousands, and every page needs their order. */
function membersInOrder(reader: Snapshot, organizationId: string): Members {
  const read = (): Members =>
    byCreation(reader.list(memberships, 'organization', organizationId)).map(({ row }) => row);
  // While owners are in doubt, users are gone whose memberships are still in the table.
  return reader.ownersInDoubt ? read() : reader.memoWhile(memberships, organizationId, read);
}

/** Counted once for as long as neither the members nor any users change. */
function invitedAmong(reader: Snapshot, members: Members): number {
  const known = reader.memoWhile(users, 'invited', () => new WeakMap<Members, number>());
  const invited = known.get(members) ?? members.filter((one) => statusOf(userOf(reader, one)) === 'invited').length;
  known.set(members, invited);
  return invited;
}

function matching(reader: Snapshot, members: Members, query: Query): Members {
  const q = (query.get(Q.name) ?? '').toLowerCase();
  const given = query.get(EMAIL.name);
  const status = query.get(STATUS.name) ?? '';
  if (q === '' && given === undefined && status === '') return members;
  const emails = given === undefined ? undefined : new Set(given.toLowerCase().split(','));
  return members.filter((membership) => {
    const user = userOf(reader, membership);
    const email = user.email.toLowerCase();
    return (
      (user.username.toLowerCase().includes(q) || email.includes(q)) &&
      (emails?.has(email) ?? true) &&
      (status === '' || statusOf(user) === status)
    );
  });
}
