/** Brings people into an organization, and takes them out. */

import { newId } from '../../credentials/secret.ts';
import { type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import type { Caller } from '../authorization/caller.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { organizationNamed, standingAround, teamKnown } from '../authorization/find-visible.ts';
import { checkOwnerLeft, isOwner } from '../authorization/owners.ts';
import { changesMembers, changesMemberships, removesMember } from '../authorization/permissions.ts';
import { showMembership } from '../documents/organization-membership-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { unconditional } from '../jsonapi/documents.ts';
import { attributeFault, type Fault, JsonApiError, notFound, throwFaults } from '../jsonapi/errors.ts';
import { readEmail } from '../jsonapi/read-attributes.ts';
import type { GivenResource, WantedResource } from '../jsonapi/read-resource.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { type Team, teams } from '../tables/team.ts';
import { teamMembers } from '../tables/team-member.ts';
import { createUser } from '../users/new-user.ts';
import { forgetInvited } from '../users/remove-invited-users.ts';
import { checkInvitations } from './check-invitations.ts';

/** What brings somebody into an organization. */
export const NEW_MEMBERSHIP: WantedResource = {
  type: 'organization-memberships',
  manyRelationships: [{ name: 'teams', type: 'teams' }],
};

/** A membership with what the caller is in its organization. */
export interface FoundMembership {
  readonly standing: Standing;
  readonly membership: DeepReadonly<Membership>;
}

/** The membership with that id, for other members. @throws JsonApiError `not-found` */
export function membershipById(reader: Reader, caller: Caller, id: string): FoundMembership {
  const membership = reader.get(memberships, id)?.row;
  const standing = standingAround(reader, caller, membership?.organizationId);
  if (membership === undefined) throw notFound();
  return { standing, membership };
}

/**
 * `POST /organizations/:name/organization-memberships`: a user of that e-mail address is made when there is none. Teams
 * that are named get the member, if the caller may add to them.
 * @throws JsonApiError `not-found`, `invalid-attribute`
 */
export function createMembership(writing: Writing, organization: string, given: GivenResource): FoundMembership {
  const { tx, caller, origin } = writing;
  const standing = organizationNamed(tx, caller, organization);
  if (!changesMemberships(standing)) throw notFound();
  const theirTeams = (given.manyRelationships.get('teams') ?? []).map((id) => joinableTeam(writing, standing, id));
  const faults: Fault[] = [];
  const email = readEmail(given.attributes, faults, true) ?? '';
  throwFaults(faults);
  const organizationId = standing.organization.id;
  const user = userOfEmail(writing, email, organizationId);
  if (tx.find(memberships, 'pair', membershipPair(organizationId, user.id)) !== undefined) {
    throw new JsonApiError([attributeFault('email', 'Email has already been taken')]);
  }
  if (user.unclaimed === true) checkInvitations(tx, organizationId);
  const membership: Membership = {
    id: tx.once(() => newId('ou')),
    organizationId,
    userId: user.id,
    createTime: new Date(tx.now).toISOString(),
    ...(user.unclaimed === true && { invited: true }),
    place: tx.position,
  };
  tx.put(memberships, membership);
  for (const { id: teamId } of theirTeams) {
    tx.put(teamMembers, { teamId, userId: user.id, membershipId: membership.id });
  }
  recordTeamAccess(tx, origin, {
    organizationId,
    action: 'create',
    type: 'organization-memberships',
    subject: membership.id,
    before: null,
    after: { ...membership, teams: theirTeams.map(({ id }) => id) },
  });
  return { standing, membership };
}

/**
 * `DELETE /organization-memberships/:id`; the member's places in teams go with it.
 * @throws JsonApiError `not-found`, `precondition-failed`; `forbidden` for the last owner
 */
export function deleteMembership({ tx, caller, origin }: Writing, id: string, precondition = unconditional): void {
  const { standing, membership } = membershipById(tx, caller, id);
  const theirTeams = tx
    .list(teamMembers, 'membership', id)
    .map(({ row }) => tx.get(teams, row.teamId)?.row)
    .filter((team) => team !== undefined);
  const oneself = caller.kind === 'user' && caller.userId === membership.userId;
  if (!oneself && !removesMember(standing, theirTeams)) throw notFound();
  const { organization } = standing;
  const { organizationId, userId } = membership;
  if (isOwner(tx, organization, userId)) checkOwnerLeft(tx, organization, userId);
  precondition(() => ({ data: showMembership(tx, standing, membership) }));
  tx.delete(memberships, id);
  recordTeamAccess(tx, origin, {
    organizationId,
    action: 'destroy',
    type: 'organization-memberships',
    subject: id,
    before: { ...membership, teams: theirTeams.map((team) => team.id) },
    after: null,
  });
  forgetInvited({ tx, origin, organizationId }, userId);
}

function joinableTeam({ tx, caller }: Writing, standing: Standing, id: string): DeepReadonly<Team> {
  const found = teamKnown(tx, caller, id);
  if (found === undefined || found.team.organizationId !== standing.organization.id) throw notFound();
  if (!changesMembers(standing, found.team)) throw notFound();
  return found.team;
}

const userOfEmail = (writing: Writing, email: string, invitedTo: string): DeepReadonly<User> =>
  writing.tx.find(users, 'email', email.toLowerCase())?.row ?? createUser(writing, { email, invitedTo });
