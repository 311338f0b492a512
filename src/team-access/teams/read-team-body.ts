/** Reads what a body says about a team. */
import { Type } from 'typebox';
import { organizationAccessSchema } from '../documents/team-to-json.ts';
import { attributeFault, type Fault, throwFaults } from '../jsonapi/errors.ts';
import { type Given, given, readBoolean, readChoice, readName, readNullableText } from '../jsonapi/read-attributes.ts';
import { bodyOf } from '../jsonapi/schemas.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import { ORGANIZATION_PERMISSIONS, type OrganizationPermission } from '../tables/organization-access.ts';
import type { Team, Visibility } from '../tables/team.ts';

/** What is given of a team; the permissions that are given one way or the other. */
export type TeamBody = Partial<
  Pick<Team, 'name' | 'description' | 'visibility' | 'ssoTeamId' | 'allowMemberTokenManagement'>
> & { readonly organizationAccess: ReadonlyMap<OrganizationPermission, boolean> };

const nullableText = Type.Union([Type.String(), Type.Null()]);
const attributes = {
  name: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
  description: nullableText,
  visibility: Type.Enum(['secret', 'organization']),
  'sso-team-id': nullableText,
  'allow-member-token-management': Type.Boolean(),
  'organization-access': organizationAccessSchema,
};

export const newTeamSchema = bodyOf('teams', { attributes, required: ['name'] });
export const changedTeamSchema = bodyOf('teams', { attributes });

/** Read once it is known that the caller may. @throws JsonApiError `invalid-attribute` */
export function readTeamBody(attributesGiven: Given, isNew: boolean): TeamBody {
  const faults: Fault[] = [];
  const name = readName(attributesGiven, faults, { maximum: NAME_CHARACTERS_MAX, optional: !isNew });
  const description = readNullableText(attributesGiven, 'description', faults);
  const visibility = readChoice<Visibility>(attributesGiven, 'visibility', ['secret', 'organization'], faults);
  const ssoTeamId = readNullableText(attributesGiven, 'sso-team-id', faults);
  const allowMemberTokenManagement = readBoolean(attributesGiven, 'allow-member-token-management', faults);
  const organizationAccess = readOrganizationAccess(given(attributesGiven, 'organization-access'), faults);
  throwFaults(faults);
  return {
    organizationAccess,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(visibility !== undefined && { visibility }),
    ...(ssoTeamId !== undefined && { ssoTeamId }),
    ...(allowMemberTokenManagement !== undefined && { allowMemberTokenManagement }),
  };
}

function readOrganizationAccess(value: unknown, faults: Fault[]): ReadonlyMap<OrganizationPermission, boolean> {
  const access = new Map<OrganizationPermission, boolean>();
  if (value === undefined) return access;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.push(
      attributeFault(
        'organization-access',
        'Organization access is invalid: want an object of permissions, each with true or false',
      ),
    );
    return access;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of ORGANIZATION_PERMISSIONS) {
    const wanted = Object.hasOwn(members, name) ? members[name] : undefined;
    if (wanted === undefined || wanted === null) continue;
    if (typeof wanted === 'boolean') access.set(name, wanted);
    else faults.push(attributeFault(`organization-access/${name}`, `${name} is not included in the list`));
  }
  return access;
}

/** The permissions of a team after a change, in their usual order. */
export const changedOrganizationAccess = (
  before: readonly OrganizationPermission[],
  change: ReadonlyMap<OrganizationPermission, boolean>,
): readonly OrganizationPermission[] =>
  ORGANIZATION_PERMISSIONS.filter((name) => change.get(name) ?? before.includes(name));
