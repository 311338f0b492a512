/** Finds, creates, and deletes memberships of organizations. */
import { newId } from '../../credentials/ids-and-secrets.ts';
import { type User, users } from '../../credentials/user.ts';
import type { Steps } from '../../state/clock/slices.ts';
import { JOB_BATCH_ROWS } from '../../state/limits.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccessChange } from '../audit.ts';
import { type Caller, type CallerRole, roleWithTeams, userRole } from '../authorization/caller.ts';
import {
  type ComparisonBudget,
  checkTeamWithinRole,
  comparisonBudget,
  forbidden,
} from '../authorization/compare-team.ts';
import { organizationByName, roleInOrganization, visibleTeam } from '../authorization/find-visible.ts';
import {
  ANY_ORGANIZATION,
  checkInvitationTeams,
  findPendingUsers,
  isInvitationOf,
  pendingMembership,
} from '../authorization/invitations.ts';
import { checkOwnerRemains, hasOtherOwner, isOwner, makeOwner } from '../authorization/owners.ts';
import { canManageMemberships, canRemoveMember, canUpdateMembers } from '../authorization/permissions.ts';
import { membershipToJson } from '../documents/organization-membership-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { type Precondition, unconditional } from '../jsonapi/documents.ts';
import { attributeError, type ErrorObject, JsonApiError, notFound, throwErrors } from '../jsonapi/errors.ts';
import { readEmail } from '../jsonapi/read-attributes.ts';
import type { ParsedResource, ResourceSpec } from '../jsonapi/read-resource.ts';
import { INVITED_MAX } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { type Team, teamMembers, teams } from '../tables/team.ts';
import { createUser, findSuccessor, transferError } from '../users/change-user.ts';
import { createPendingUser } from '../users/pending-users.ts';
import { removeUnclaimedUser } from '../users/remove-unclaimed-users.ts';

export const NEW_MEMBERSHIP: ResourceSpec = {
  type: 'organization-memberships',
  toManyRelationships: [{ name: 'teams', type: 'teams' }],
};

export interface FoundMembership {
  readonly role: CallerRole;
  readonly membership: DeepReadonly<Membership>;
}

/** Returns a membership to callers with a role in its organization [AUTHZ-57]. @throws JsonApiError `not-found` */
export function membershipById(reader: Reader, caller: Caller, id: string): FoundMembership {
  const membership = reader.get(memberships, id)?.row;
  const own = ownMembership(reader, caller, membership);
  if (own !== undefined) return own;
  const role = roleInOrganization(reader, caller, membership?.organizationId);
  if (membership === undefined) throw notFound();
  return { role, membership };
}

/**
 * Returns a membership if it is the caller's own, or an invitation of theirs. The organization may refuse the tokens of
 * users, because users leave and join with their own token [AUTHZ-93].
 */
export function ownMembership(
  reader: Reader,
  caller: Caller,
  membership: DeepReadonly<Membership> | undefined,
): FoundMembership | undefined {
  if (caller.kind !== 'user') return undefined;
  const isInvited = isInvitationOf(reader, caller.userId, membership);
  if (membership === undefined || !(isInvited || caller.userId === membership.userId)) return undefined;
  const organization = reader.get(organizations, membership.organizationId)?.row;
  if (organization === undefined) return undefined;
  if (isInvited) return { role: { ...roleWithTeams(organization, []), isInvited }, membership };
  const role = userRole(reader, caller.userId, organization, caller);
  return role && { role, membership };
}

/**
 * Adds a member to an organization and to the teams that the body names [AUTHZ-58]. Creates an unclaimed user if no
 * user has the email address [AUTHZ-59], and always a pending user if members join by accepting [AUTHZ-95].
 * @throws JsonApiError `not-found`, `invalid-attribute`; `forbidden` for a team that grants more than the caller has
 */
export function* createMembership(
  context: WriteContext,
  organization: string,
  body: ParsedResource,
): Steps<FoundMembership> {
  const { tx, caller, origin } = context;
  const role = organizationByName(tx, caller, organization);
  if (!canManageMemberships(role)) throw notFound();
  const budget = comparisonBudget();
  const memberTeams: DeepReadonly<Team>[] = [];
  for (const id of body.toManyRelationships.get('teams') ?? []) {
    memberTeams.push(joinableTeam(context, role, id, budget));
    yield;
  }
  const errors: ErrorObject[] = [];
  const email = readEmail(body.attributes, errors, true) ?? '';
  throwErrors(errors);
  const organizationId = role.organization.id;
  const user = userToAdd(context, email, organizationId);
  if (user.invitation !== undefined) checkInvitationTeams(memberTeams.length, '/data/relationships/teams');
  if (user.unclaimed === true) checkInvitationLimit(tx, organizationId);
  const membership: Membership = {
    id: tx.memoizeAcrossRetries(() => newId('ou')),
    organizationId,
    userId: user.id,
    createTime: new Date(tx.now).toISOString(),
    ...(user.unclaimed === true && { invited: true }),
    place: tx.position,
  };
  tx.put(memberships, membership);
  for (const { id: teamId } of memberTeams) {
    tx.put(teamMembers, { teamId, userId: user.id, membershipId: membership.id });
    yield;
  }
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action: 'create',
    type: 'organization-memberships',
    subject: membership.id,
    before: null,
    after: { ...membership, teams: memberTeams.map(({ id }) => id) },
  });
  return { role, membership };
}

export interface MembershipEnd {
  readonly id: string;
  readonly precondition?: Precondition;
  /** ID or username of the member whom an owner makes an owner when they leave. */
  readonly transferTo?: string | undefined;
  /** Whether a last owner leaves the organization without an owner, to the site administrators. */
  readonly leaveToSiteAdministrators?: boolean;
}

/**
 * Ends a membership and removes the user from the teams of the organization [AUTHZ-62, AUTHZ-63]. A last owner names a
 * successor or leaves the organization to the site administrators [AUTHZ-89]. An invited person declines [AUTHZ-98].
 * @throws JsonApiError `not-found`, `precondition-failed`, `invalid-attribute`; `forbidden` for the last owner
 */
export function deleteMembership(context: WriteContext, end: MembershipEnd): void {
  const { tx, caller, origin } = context;
  const { id, precondition = unconditional } = end;
  const { role, membership } = membershipById(tx, caller, id);
  const memberTeams = tx
    .list(teamMembers, 'membership', id)
    .map(({ row }) => tx.get(teams, row.teamId)?.row)
    .filter((team) => team !== undefined);
  const { isInvited = false } = role;
  const isSelf = isInvited || (caller.kind === 'user' && caller.userId === membership.userId);
  if (!isSelf && !canRemoveMember(role, memberTeams)) throw notFound();
  const { organizationId, userId } = membership;
  const successor = readSuccessor(tx, role, membership, end.transferTo);
  const leaves = end.leaveToSiteAdministrators === true;
  if (leaves && !isSelf)
    throw forbidden('only an owner who leaves can leave the organization to the site administrators');
  const wasLastOwner =
    isOwner(tx, role.organization, userId) && !hasOtherOwner(tx, role.organization, userId) && successor === undefined;
  if (wasLastOwner && !leaves) checkOwnerRemains(tx, role.organization, userId);
  precondition(() => ({ data: membershipToJson(tx, role, membership) }));
  if (successor !== undefined) makeOwner(context, role.organization, successor.id);
  tx.delete(memberships, id);
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action: isInvited ? 'decline' : 'destroy',
    type: 'organization-memberships',
    subject: id,
    before: { ...membership, teams: memberTeams.map((team) => team.id) },
    after: null,
  });
  if (wasLastOwner) {
    const change = { action: 'leave-to-site-administrators', type: 'organizations', subject: organizationId };
    recordTeamAccessChange(tx, origin, { organizationId, ...change, before: { owner: userId }, after: null });
  }
  removeUnclaimedUser({ tx, origin, organizationId }, userId);
}

/**
 * Returns the member whom a departing owner makes an owner. Only owners do so, because another caller would make an
 * owner without being one.
 * @throws JsonApiError `invalid-attribute`, `forbidden`
 */
function readSuccessor(
  reader: Reader,
  role: CallerRole,
  { organizationId, userId }: DeepReadonly<Membership>,
  transferTo: string | undefined,
): DeepReadonly<User> | undefined {
  if (transferTo === undefined) return undefined;
  if (!(role.owner && isOwner(reader, role.organization, userId))) {
    throw forbidden('only the membership of an owner can end with transfer-to, and only by an owner');
  }
  const successor = findSuccessor(reader, transferTo, userId);
  if (reader.find(memberships, 'pair', membershipPair(organizationId, successor.id)) !== undefined) return successor;
  throw transferError();
}

/** Returns a team to which the caller may add members. @throws JsonApiError `not-found`, `forbidden` [AUTHZ-44] */
function joinableTeam(
  { tx, caller }: WriteContext,
  role: CallerRole,
  id: string,
  budget: ComparisonBudget,
): DeepReadonly<Team> {
  const found = visibleTeam(tx, caller, id);
  if (found === undefined || found.team.organizationId !== role.organization.id) throw notFound();
  if (!canUpdateMembers(role, found.team)) throw notFound();
  checkTeamWithinRole(tx, role, found.team, budget);
  return found.team;
}

/**
 * Returns the user of a new membership. If members join by accepting, the lookups and the result do not depend on the
 * account with the email address, unless the account is a member, which every member of the organization can see.
 * @throws JsonApiError `invalid-attribute` if the address has a membership [AUTHZ-60]
 */
function userToAdd(context: WriteContext, email: string, organizationId: string): DeepReadonly<User> {
  const { tx, invitations } = context;
  const account = tx.find(users, 'email', email.toLowerCase())?.row;
  const joined = tx.find(memberships, 'pair', membershipPair(organizationId, account?.id ?? ''));
  const pending = pendingMembership(tx, organizationId, email);
  if (joined !== undefined || pending !== undefined) {
    throw new JsonApiError([attributeError('email', 'Email has already been taken')]);
  }
  if (invitations === 'accept') {
    return findPendingUsers(tx, organizationId, email)[0] ?? createPendingUser(context, { organizationId, email });
  }
  // Without an account, an earlier pending user of the address replaces a second unclaimed user.
  const known = account ?? findPendingUsers(tx, ANY_ORGANIZATION, email)[0];
  return known ?? createUser(context, { email, invitingOrganizationId: organizationId });
}

/**
 * Rejects an invitation over the limit [AUTHZ-61], because each invitation can create a user. Memberships of users who
 * were claimed since lose `invited` here, a batch per commit, so that a claim does not write all memberships of a user.
 * @throws JsonApiError `invalid-attribute`
 */
function checkInvitationLimit(tx: Transaction, organizationId: string): void {
  const invited = tx.list(memberships, 'invited', organizationId, { limit: INVITED_MAX });
  if (invited.length < INVITED_MAX) return;
  const claimed = invited.filter(({ row }) => tx.get(users, row.userId)?.row.unclaimed !== true);
  if (claimed.length === 0) {
    const detail = `Email exceeds the limit of ${INVITED_MAX} invited members without a token: remove some of them first`;
    throw new JsonApiError([attributeError('email', detail)]);
  }
  for (const { row } of claimed.slice(0, JOB_BATCH_ROWS)) {
    const { invited: _, ...membership } = row;
    tx.put(memberships, membership);
  }
}
