/** Creates, updates, and deletes organizations. */
import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { newId } from '../../credentials/ids-and-secrets.ts';
import type { Call } from '../../http/call.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { deleteTrail, recordTeamAccessChange } from '../audit.ts';
import { type CallerRole, callerRole, roleWithTeams } from '../authorization/caller.ts';
import { organizationByName, roleInOrganization } from '../authorization/find-visible.ts';
import { canUpdateOrganization } from '../authorization/permissions.ts';
import { organizationDocument, organizationSettings } from '../documents/organization-to-json.ts';
import type { OrganizationQuota } from '../http/organization-quota.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { ifMatch } from '../jsonapi/documents.ts';
import { attributeError, type ErrorObject, JsonApiError, notFound, throwErrors } from '../jsonapi/errors.ts';
import { nameTakenError, readChoice, readEmail, readName } from '../jsonapi/read-attributes.ts';
import type { RawAttributes } from '../jsonapi/read-resource.ts';
import { bodySchema } from '../jsonapi/schemas.ts';
import { readSettings, settingProperties } from '../jsonapi/settings.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import {
  acceptsUserTokens,
  normalizeName,
  type Organization,
  organizations,
  type Plan,
  USER_TOKENS_ENABLED,
} from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { projects } from '../tables/project.ts';
import { OWNERS_TEAM_NAME, teamMembers, teams } from '../tables/team.ts';

interface OrganizationBody {
  readonly name?: string;
  readonly email?: string;
  readonly plan?: Plan;
  readonly settings: Readonly<Record<string, unknown>>;
}

const attributeSchemas = {
  name: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
  email: Type.String(),
  plan: Type.Enum(['free', 'standard'], { description: 'Only for site administrators.' }),
  ...settingProperties(organizationSettings),
};

export const newOrganizationSchema = bodySchema('organizations', {
  attributes: attributeSchemas,
  required: ['name', 'email'],
});
export const changedOrganizationSchema = bodySchema('organizations', { attributes: attributeSchemas });

/**
 * Creates an organization with its `owners` team and default project [AUTHZ-53]. The caller becomes its owner. Returns
 * the caller's role.
 * @throws JsonApiError `not-found` for team and organization tokens, `invalid-attribute`
 */
export function createOrganization(
  { tx, caller, origin }: WriteContext,
  attributes: RawAttributes,
  quota: OrganizationQuota,
): CallerRole {
  if (caller.kind !== 'user') throw notFound();
  const body = readOrganizationBody(attributes, true);
  const { name = '', email = '', plan = 'standard', settings } = body;
  if (body.plan !== undefined && !caller.siteAdmin) throw notFound();
  if (tx.find(organizations, 'name', normalizeName(name)) !== undefined) throw new JsonApiError([nameTakenError()]);
  quota.check(tx, caller.userId);
  if (!acceptsUserTokens({ settings })) checkOwnerToken(tx, { id: '', ownersTeamId: '' });
  const createTime = new Date(tx.now).toISOString();
  const id = tx.memoizeAcrossRetries(() => newId('org'));
  const ownersTeamId = tx.memoizeAcrossRetries(() => newId('team'));
  const defaultProjectId = tx.memoizeAcrossRetries(() => newId('prj'));
  const membershipId = tx.memoizeAcrossRetries(() => newId('ou'));
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
    name: OWNERS_TEAM_NAME,
    description: null,
    visibility: 'secret',
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess: [],
    createTime,
    place: tx.position,
  });
  tx.put(teamMembers, { teamId: ownersTeamId, userId: caller.userId, membershipId });
  recordTeamAccessChange(tx, origin, {
    organizationId: id,
    action: 'create',
    type: 'organizations',
    subject: id,
    before: null,
    after: organization,
  });
  const role = callerRole(tx, caller, id);
  if (role === undefined) throw new TypeError('the creator of the organization has no role in it');
  return role;
}

/**
 * Updates an organization. Owners update everything except the plan. Site administrators update the plan and
 * `user-tokens-enabled` of any organization, and other attributes only as owners [AUTHZ-17, AUTHZ-55].
 * @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed`
 */
export function changeOrganization(
  { tx, caller, origin }: WriteContext,
  call: Call,
  name: string,
  attributes: RawAttributes,
): CallerRole {
  const before = tx.find(organizations, 'name', normalizeName(name))?.row;
  const isSiteAdmin = caller.kind === 'user' && caller.siteAdmin;
  const role = isSiteAdmin && before ? callerRole(tx, caller, before.id) : roleInOrganization(tx, caller, before?.id);
  const isOwner = role !== undefined && canUpdateOrganization(role);
  if (before === undefined || !(isOwner || isSiteAdmin)) throw notFound();
  const body = readOrganizationBody(attributes, false);
  const { settings, plan = before.plan, ...rest } = body;
  const names = [...Object.keys(rest), ...Object.keys(settings)];
  const isAdminChange = (body.plan !== undefined || names.length > 0) && names.every((n) => n === USER_TOKENS_ENABLED);
  if (!isOwner && !isAdminChange) throw notFound();
  if (plan !== before.plan && !isSiteAdmin) throw notFound();
  const after: Organization = { ...before, ...rest, plan, settings: { ...before.settings, ...settings } };
  if (acceptsUserTokens(before) && !acceptsUserTokens(after)) checkOwnerToken(tx, before);
  const sameName = tx.find(organizations, 'name', normalizeName(after.name))?.row;
  if (sameName !== undefined && sameName.id !== before.id) throw new JsonApiError([nameTakenError()]);
  ifMatch(call)(() => organizationDocument(role ?? roleWithTeams(before, [])));
  if (!isDeepStrictEqual(before, after)) {
    tx.put(organizations, after);
    const change = { action: 'update', type: 'organizations', subject: before.id, before, after };
    recordTeamAccessChange(tx, origin, { organizationId: before.id, ...change });
  }
  return callerRole(tx, caller, before.id) ?? roleWithTeams(after, []);
}

/**
 * Rejects the refusal of user tokens while the organization has no other token of an owner, because then only a site
 * administrator could end it [AUTHZ-93].
 * @throws JsonApiError `invalid-attribute`
 */
function checkOwnerToken(reader: Reader, { id, ownersTeamId }: Pick<Organization, 'id' | 'ownersTeamId'>): void {
  const first = { limit: 1 };
  if (reader.list(apiTokens, 'organization', id, first).length > 0) return;
  if (reader.list(apiTokens, 'team', ownersTeamId, first).length > 0) return;
  const detail =
    "User tokens enabled can't be false while neither the organization nor its team owners has a token, " +
    'because no owner could change it back: create such a token first';
  throw new JsonApiError([attributeError(USER_TOKENS_ENABLED, detail)]);
}

/** Also deletes the content, in one commit [AUTHZ-83]. @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteOrganization(context: WriteContext, call: Call, name: string): void {
  const role = organizationByName(context.tx, context.caller, name);
  if (!canUpdateOrganization(role)) throw notFound();
  ifMatch(call)(() => organizationDocument(role));
  removeOrganization(context, role.organization);
}

/** Deletes an organization with everything in it. Callers authorize first. */
export function removeOrganization({ tx, origin }: WriteContext, organization: DeepReadonly<Organization>): void {
  deleteTrail(tx, organization.id);
  tx.delete(organizations, organization.id);
  recordTeamAccessChange(tx, origin, {
    organizationId: organization.id,
    action: 'destroy',
    type: 'organizations',
    subject: organization.id,
    before: organization,
    after: null,
  });
}

/** Reads the attributes. Callers authorize first [TEAM-27]. @throws JsonApiError `invalid-attribute` */
function readOrganizationBody(given: RawAttributes, isNew: boolean): OrganizationBody {
  const errors: ErrorObject[] = [];
  const name = readName(given, errors, { maximum: NAME_CHARACTERS_MAX, optional: !isNew });
  const email = readEmail(given, errors, isNew);
  const plan = readChoice<Plan>(given, 'plan', ['free', 'standard'], errors);
  const settings = readSettings(organizationSettings, given, errors);
  throwErrors(errors);
  return {
    settings,
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email }),
    ...(plan !== undefined && { plan }),
  };
}
