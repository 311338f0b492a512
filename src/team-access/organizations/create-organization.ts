/** `POST /organizations`: any user makes one and owns it; with it come the `owners` team and the default project. */
import { newId } from '../../credentials/secret.ts';
import { users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import { type Standing, standingOf } from '../authorization/caller-role.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type Given, nameTaken } from '../jsonapi/read-attributes.ts';
import { ORGANIZATIONS_MADE_MAX } from '../limits.ts';
import { nameEntry, type Organization, organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { projects } from '../tables/project.ts';
import { OWNERS, teams } from '../tables/team.ts';
import { teamMembers } from '../tables/team-member.ts';
import { readOrganizationBody } from './read-organization-body.ts';

/** @returns the maker's standing in it @throws JsonApiError `not-found` for who is no user, `invalid-attribute` */
export function createOrganization({ tx, caller, origin }: Writing, attributes: Given): Standing {
  if (caller.kind !== 'user') throw notFound();
  const body = readOrganizationBody(attributes, true);
  const { name = '', email = '', plan = 'standard', settings } = body;
  if (body.plan !== undefined && !caller.siteAdmin) throw notFound();
  if (tx.find(organizations, 'name', nameEntry(name)) !== undefined) throw new JsonApiError([nameTaken()]);
  checkMayMake(tx, caller.userId);
  const createTime = new Date(tx.now).toISOString();
  const id = tx.once(() => newId('org'));
  const ownersTeamId = tx.once(() => newId('team'));
  const defaultProjectId = tx.once(() => newId('prj'));
  const membershipId = tx.once(() => newId('ou'));
  const organization: Organization = {
    ...{ id, name, email, plan, ownersTeamId, defaultProjectId, settings, createTime },
    makerId: caller.userId,
  };
  tx.put(organizations, organization);
  tx.put(projects, { id: defaultProjectId, organizationId: id, name: 'Default Project', createTime });
  tx.put(memberships, { id: membershipId, organizationId: id, userId: caller.userId, createTime, place: tx.position });
  tx.put(teams, {
    id: ownersTeamId,
    organizationId: id,
    name: OWNERS,
    description: null,
    visibility: 'secret',
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess: [],
    createTime,
    place: tx.position,
  });
  tx.put(teamMembers, { teamId: ownersTeamId, userId: caller.userId, membershipId });
  recordTeamAccess(tx, origin, {
    organizationId: id,
    action: 'create',
    type: 'organizations',
    subject: id,
    before: null,
    after: organization,
  });
  const standing = standingOf(tx, caller, id);
  if (standing === undefined) throw new TypeError('who made an organization is not in it');
  return standing;
}

/**
 * Refuses one organization more to who has made ORGANIZATIONS_MADE_MAX of those that are there, also of those that they
 * have left to others: else they could be left to anybody. Site administrators, who make organizations for others, make as
 * many as they like.
 * @throws JsonApiError `invalid-attribute`
 */
function checkMayMake(reader: Reader, userId: string): void {
  if (reader.get(users, userId)?.row.siteAdmin) return;
  const limit = ORGANIZATIONS_MADE_MAX;
  if (reader.list(organizations, 'maker', userId, { limit }).length < limit) return;
  const detail = `you have made ${limit} of the organizations that are there, which is the most: one of them must be deleted first`;
  throw new JsonApiError([{ code: 'invalid-attribute', detail }]);
}
