/** Creates, updates, and deletes teams. No caller can grant permissions that they lack [AUTHZ-44 to AUTHZ-46]. */
import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { newId } from '../../credentials/ids-and-secrets.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { checkPermissionsHeld, checkTeamWithinRole, forbidden } from '../authorization/compare-team.ts';
import { type FoundTeam, organizationWithTeams, teamById } from '../authorization/find-visible.ts';
import {
  canCreateTeams,
  canMakeSecret,
  canSetOrganizationAccess,
  canUpdateTeam,
} from '../authorization/permissions.ts';
import { organizationAccessSchema, teamDocument } from '../documents/team-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import type { Precondition } from '../jsonapi/documents.ts';
import { attributeError, type ErrorObject, JsonApiError, notFound, throwErrors } from '../jsonapi/errors.ts';
import { nameTakenError, readBoolean, readChoice, readName, readNullableText } from '../jsonapi/read-attributes.ts';
import { attributeValue, type RawAttributes } from '../jsonapi/read-resource.ts';
import { bodySchema } from '../jsonapi/schemas.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import { nameInOrganization, normalizeName } from '../tables/organization.ts';
import { ORGANIZATION_PERMISSIONS, type OrganizationPermission } from '../tables/organization-access.ts';
import { OWNERS_TEAM_NAME, type Team, teams, type Visibility } from '../tables/team.ts';

/** The attributes of a request. `organizationAccess` has the permissions that the request sets to true or false. */
type TeamBody = Partial<
  Pick<Team, 'name' | 'description' | 'visibility' | 'ssoTeamId' | 'allowMemberTokenManagement'>
> & { readonly organizationAccess: ReadonlyMap<OrganizationPermission, boolean> };

const nullableText = Type.Union([Type.String(), Type.Null()]);
const attributeSchemas = {
  name: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
  description: nullableText,
  visibility: Type.Enum(['secret', 'organization']),
  'sso-team-id': nullableText,
  'allow-member-token-management': Type.Boolean(),
  'organization-access': organizationAccessSchema,
};

export const newTeamSchema = bodySchema('teams', { attributes: attributeSchemas, required: ['name'] });
export const changedTeamSchema = bodySchema('teams', { attributes: attributeSchemas });

export interface TeamTarget {
  readonly id: string;
  readonly precondition: Precondition;
}

/** Creates a team [AUTHZ-45]. @throws JsonApiError `not-found`, `invalid-attribute`, `forbidden` */
export function createTeam(
  { tx, caller, origin }: WriteContext,
  organization: string,
  attributes: RawAttributes,
): FoundTeam {
  const role = organizationWithTeams(tx, caller, organization);
  if (!canCreateTeams(role)) throw notFound();
  const { organizationAccess: accessChange, name = '', ...values } = readTeamBody(attributes, true);
  const organizationAccess = changedOrganizationAccess([], accessChange);
  if (organizationAccess.length > 0) checkOrganizationAccess(role, undefined, organizationAccess);
  if (values.visibility !== 'organization') checkMakesSecret(role);
  const organizationId = role.organization.id;
  if (isReserved(name)) throw new JsonApiError([reservedNameError()]);
  if (tx.find(teams, 'name', nameInOrganization(organizationId, name)) !== undefined)
    throw new JsonApiError([nameTakenError()]);
  const team: Team = {
    id: tx.memoizeAcrossRetries(() => newId('team')),
    organizationId,
    name,
    description: null,
    visibility: 'secret',
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    ...values,
    organizationAccess,
    createTime: new Date(tx.now).toISOString(),
    place: tx.position,
  };
  tx.put(teams, team);
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action: 'create',
    type: 'teams',
    subject: team.id,
    before: null,
    after: team,
  });
  return { role, team };
}

/** @throws JsonApiError `forbidden` unless the caller may give all of these permissions [AUTHZ-45, AUTHZ-46] */
function checkOrganizationAccess(
  role: CallerRole,
  team: FoundTeam['team'] | undefined,
  wanted: readonly OrganizationPermission[],
): void {
  if (!canSetOrganizationAccess(role, team)) {
    throw forbidden("a change of organization-access requires 'manage-organization-access', which you do not have");
  }
  checkPermissionsHeld(role, wanted, 'you cannot give');
}

/** @throws JsonApiError `forbidden` [AUTHZ-43] */
function checkMakesSecret(role: CallerRole): void {
  if (canMakeSecret(role)) return;
  throw forbidden("a secret team requires 'access-secret-teams', which you do not have: want visibility organization");
}

/** Whether the name belongs to the `owners` team, even after owners have renamed their team [AUTHZ-52]. */
const isReserved = (name: string): boolean => normalizeName(name) === OWNERS_TEAM_NAME;

const reservedNameError = () =>
  attributeError('name', `Name '${OWNERS_TEAM_NAME}' is reserved for the team that owns the organization`);

/**
 * Updates a team [AUTHZ-46].
 * @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed`; `forbidden` for a team that grants more
 * than the caller has
 */
export function changeTeam(
  { tx, caller, origin }: WriteContext,
  { id, precondition }: TeamTarget,
  attributes: RawAttributes,
): FoundTeam {
  const found = teamById(tx, caller, id);
  const { role, team: before } = found;
  if (!canUpdateTeam(role, before)) throw notFound();
  checkTeamWithinRole(tx, role, before);
  const { organizationAccess: accessChange, ...values } = readTeamBody(attributes, false);
  const organizationAccess = changedOrganizationAccess(before.organizationAccess, accessChange);
  const team: Team = { ...before, ...values, organizationAccess };
  const changesAccess = !isDeepStrictEqual(organizationAccess, before.organizationAccess);
  if (changesAccess) checkOrganizationAccess(role, before, organizationAccess);
  if (team.visibility === 'secret' && before.visibility !== 'secret') checkMakesSecret(role);
  const renamed = team.name !== before.name && id !== role.organization.ownersTeamId;
  if (renamed && isReserved(team.name)) throw new JsonApiError([reservedNameError()]);
  const sameName = tx.find(teams, 'name', nameInOrganization(team.organizationId, team.name))?.row;
  if (sameName !== undefined && sameName.id !== id) throw new JsonApiError([nameTakenError()]);
  precondition(() => teamDocument(tx, found));
  if (!isDeepStrictEqual(before, team)) {
    tx.put(teams, team);
    const { organizationId } = team;
    recordTeamAccessChange(tx, origin, {
      organizationId,
      action: 'update',
      type: 'teams',
      subject: id,
      before,
      after: team,
    });
  }
  // Returns the role from before the update, which may have changed the caller's own role [AUTHZ-27].
  return { role, team };
}

/**
 * Deletes a team with its rows, members, and tokens [AUTHZ-83].
 * @throws JsonApiError `not-found`, `precondition-failed`; `forbidden` for the `owners` team [AUTHZ-51] and for a team
 * that grants more than the caller has [AUTHZ-44]
 */
export function deleteTeam({ tx, caller, origin }: WriteContext, { id, precondition }: TeamTarget): void {
  const found = teamById(tx, caller, id);
  const { role, team } = found;
  if (!canUpdateTeam(role, team)) throw notFound();
  checkTeamWithinRole(tx, role, team);
  if (id === role.organization.ownersTeamId) {
    throw new JsonApiError([{ code: 'forbidden', detail: 'the team that owns the organization cannot be deleted' }]);
  }
  precondition(() => teamDocument(tx, found));
  tx.delete(teams, id);
  const { organizationId } = team;
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action: 'destroy',
    type: 'teams',
    subject: id,
    before: team,
    after: null,
  });
}

/** Reads the attributes. Callers authorize first. @throws JsonApiError `invalid-attribute` */
function readTeamBody(attributes: RawAttributes, isNew: boolean): TeamBody {
  const errors: ErrorObject[] = [];
  const name = readName(attributes, errors, { maximum: NAME_CHARACTERS_MAX, optional: !isNew });
  const description = readNullableText(attributes, 'description', errors);
  const visibility = readChoice<Visibility>(attributes, 'visibility', ['secret', 'organization'], errors);
  const ssoTeamId = readNullableText(attributes, 'sso-team-id', errors);
  const allowMemberTokenManagement = readBoolean(attributes, 'allow-member-token-management', errors);
  const organizationAccess = readOrganizationAccess(attributeValue(attributes, 'organization-access'), errors);
  throwErrors(errors);
  return {
    organizationAccess,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(visibility !== undefined && { visibility }),
    ...(ssoTeamId !== undefined && { ssoTeamId }),
    ...(allowMemberTokenManagement !== undefined && { allowMemberTokenManagement }),
  };
}

/** Reads the permissions that a request sets [DOC-44]. */
function readOrganizationAccess(value: unknown, errors: ErrorObject[]): ReadonlyMap<OrganizationPermission, boolean> {
  const access = new Map<OrganizationPermission, boolean>();
  if (value === undefined) return access;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors.push(
      attributeError(
        'organization-access',
        'Organization access is invalid: want an object of permissions, each with true or false',
      ),
    );
    return access;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of ORGANIZATION_PERMISSIONS) {
    const allowed = Object.hasOwn(members, name) ? members[name] : undefined;
    if (allowed === undefined || allowed === null) continue;
    if (typeof allowed === 'boolean') access.set(name, allowed);
    else errors.push(attributeError(`organization-access/${name}`, `${name} is not included in the list`));
  }
  return access;
}

/** Returns the permissions of a team after a change, in the order of `ORGANIZATION_PERMISSIONS`. */
const changedOrganizationAccess = (
  before: readonly OrganizationPermission[],
  change: ReadonlyMap<OrganizationPermission, boolean>,
): readonly OrganizationPermission[] =>
  ORGANIZATION_PERMISSIONS.filter((name) => change.get(name) ?? before.includes(name));
