/** How an organization is shown to one of its members. */
import { Type } from 'typebox';
import type { Standing } from '../authorization/caller-role.ts';
import { changesOrganization, makesTeams, makesWorkspaces, servesTeams } from '../authorization/permissions.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { settingProperties, shownSettings } from '../jsonapi/settings.ts';
import { organizationSettings } from './organization-settings.ts';

/** What nobody may, since it is not there. */
const NEVER = [
  'can-create-workspace-migration',
  'can-deploy-no-code-modules',
  'can-manage-no-code-modules',
  'can-view-hyok-feature-info',
  'can-update-hyok-configuration',
  'can-enable-stacks',
];

/** What is told of an organization and cannot be set. */
const FIXED = {
  'saml-enabled': false,
  'two-factor-conformant': false,
  'is-unified': false,
  'trial-expires-at': null,
};

export const organizationSchema = resourceSchema('organizations', 'Organization', {
  attributes: {
    name: Type.String(),
    email: Type.String(),
    'external-id': Type.String(),
    'created-at': Type.String(),
    plan: Type.Enum(['free', 'standard']),
    ...settingProperties(organizationSettings),
    ...Object.fromEntries(Object.keys(FIXED).map((name) => [name, Type.Union([Type.Boolean(), Type.Null()])])),
    permissions: Type.Record(Type.String(), Type.Boolean()),
  },
  relationships: { 'default-project': toOne('projects') },
});

export function showOrganization(standing: Standing): Resource {
  const { organization } = standing;
  const path = organizationPath(organization.name);
  return {
    id: organization.name,
    type: 'organizations',
    attributes: {
      name: organization.name,
      email: organization.email,
      'external-id': organization.id,
      'created-at': organization.createTime,
      plan: organization.plan,
      ...shownSettings(organizationSettings, organization.settings),
      ...FIXED,
      permissions: permissions(standing),
    },
    relationships: {
      'default-project': {
        data: { id: organization.defaultProjectId, type: 'projects' },
        links: { related: `/api/v2/projects/${organization.defaultProjectId}` },
      },
    },
    links: { self: path },
  };
}

/** The document of the organization alone. */
export const organizationDocument = (standing: Standing): Document => ({ data: showOrganization(standing) });

/** Where an organization is. */
export const organizationPath = (name: string): string => `/api/v2/organizations/${name}`;

/** The relationship that leads to an organization. */
export const toOrganization = (name: string) => ({
  data: { id: name, type: 'organizations' },
  links: { related: organizationPath(name) },
});

function permissions(standing: Standing): Readonly<Record<string, boolean>> {
  const { permissions: held } = standing;
  const owns = changesOrganization(standing);
  return {
    'can-create-team': servesTeams(standing) && makesTeams(standing),
    'can-create-workspace': makesWorkspaces(standing),
    'can-create-project': held.has('manage-projects'),
    'can-destroy': owns,
    'can-manage-auditing': owns,
    'can-manage-run-tasks': held.has('manage-run-tasks'),
    'can-traverse': true,
    'can-update': owns,
    'can-update-api-token': owns,
    'can-update-oauth': held.has('manage-vcs-settings'),
    'can-update-sentinel': held.has('manage-policies'),
    ...Object.fromEntries(NEVER.map((name) => [name, false])),
  };
}

const FEATURES_NOT_HERE = [
  'agents',
  'cost-estimation',
  'global-run-tasks',
  'operations',
  'private-module-registry',
  'private-run-tasks',
  'run-tasks',
  'sso',
  'sentinel',
  'state-storage',
  'vcs-integrations',
];

export const entitlementSetSchema = resourceSchema('entitlement-sets', 'EntitlementSet', {
  attributes: Object.fromEntries(
    ['teams', 'audit-logging', ...FEATURES_NOT_HERE].map((name) => [name, Type.Boolean()]),
  ),
});

/** What the plan of an organization has. */
export function showEntitlementSet(standing: Standing): Resource {
  const { organization } = standing;
  const standard = servesTeams(standing);
  return {
    id: organization.id,
    type: 'entitlement-sets',
    attributes: {
      teams: standard,
      'audit-logging': standard,
      ...Object.fromEntries(FEATURES_NOT_HERE.map((name) => [name, false])),
    },
    links: { self: `${organizationPath(organization.name)}/entitlement-set` },
  };
}
