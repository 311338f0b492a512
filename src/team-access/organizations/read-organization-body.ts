/** Reads what a body says about an organization. */
import { Type } from 'typebox';
import { organizationSettings } from '../documents/organization-settings.ts';
import { type Fault, throwFaults } from '../jsonapi/errors.ts';
import { type Given, readChoice, readEmail, readName } from '../jsonapi/read-attributes.ts';
import { bodyOf } from '../jsonapi/schemas.ts';
import { readSettings, settingProperties } from '../jsonapi/settings.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import type { Plan } from '../tables/organization.ts';

export interface OrganizationBody {
  readonly name?: string;
  readonly email?: string;
  readonly plan?: Plan;
  readonly settings: Readonly<Record<string, unknown>>;
}

const attributes = {
  name: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
  email: Type.String(),
  plan: Type.Enum(['free', 'standard'], { description: 'By site administrators only.' }),
  ...settingProperties(organizationSettings),
};

export const newOrganizationSchema = bodyOf('organizations', { attributes, required: ['name', 'email'] });
export const changedOrganizationSchema = bodyOf('organizations', { attributes });

/** Read once it is known that the caller may. @throws JsonApiError `invalid-attribute` */
export function readOrganizationBody(given: Given, isNew: boolean): OrganizationBody {
  const faults: Fault[] = [];
  const name = readName(given, faults, { maximum: NAME_CHARACTERS_MAX, optional: !isNew });
  const email = readEmail(given, faults, isNew);
  const plan = readChoice<Plan>(given, 'plan', ['free', 'standard'], faults);
  const settings = readSettings(organizationSettings, given, faults);
  throwFaults(faults);
  return {
    settings,
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email }),
    ...(plan !== undefined && { plan }),
  };
}
