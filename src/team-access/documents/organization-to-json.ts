/** The JSON form of an organization and its entitlement set, for a member, and the settings of organizations. */

import { Type } from 'typebox';
import type { CallerRole } from '../authorization/caller.ts';
import {
  canCreateTeams,
  canCreateWorkspaces,
  canUpdateOrganization,
  hasTeamManagement,
} from '../authorization/permissions.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import {
  booleanSetting,
  integerSetting,
  nullableTextSetting,
  repeatSetting,
  type Settings,
  settingProperties,
  settingsToJson,
  textSetting,
  withoutEffect,
} from '../jsonapi/settings.ts';
import { USER_TOKENS_ENABLED } from '../tables/organization.ts';
import { organizationPath } from './paths.ts';

/** Minutes that clients send unless told otherwise. */
const SESSION_MINUTES = 20_160;
const sessionSetting = withoutEffect(
  integerSetting(SESSION_MINUTES),
  [SESSION_MINUTES, null],
  `the server has no sessions of an organization to end: want ${SESSION_MINUTES} or null`,
);

/**
 * Settings of an organization. `USER_TOKENS_ENABLED` has an effect. The others describe features of runs, which clients
 * keep here, or accept only values without an effect [AUTHZ-94].
 */
export const organizationSettings: Settings = {
  'default-execution-mode': textSetting('remote'),
  'collaborator-auth-policy': withoutEffect(
    textSetting('password'),
    ['password'],
    'the server does not enforce two-factor authentication: want password',
  ),
  'session-timeout': sessionSetting,
  'session-remember': sessionSetting,
  'owners-team-saml-role-id': withoutEffect(nullableTextSetting, [null], 'the server has no SAML sign-in: want null'),
  'enforce-hyok': withoutEffect(booleanSetting(false), [false], 'the server does not hold your own keys: want false'),
  'max-ttl-enabled': withoutEffect(
    booleanSetting(false),
    [false],
    'the server does not limit the lifetime of tokens: want false',
  ),
  ...repeatSetting(
    [
      'assessments-enforced',
      'cost-estimation-enabled',
      'send-passing-statuses-for-untriggered-speculative-plans',
      'aggregated-commit-status-enabled',
      'speculative-plan-management-enabled',
      'allow-force-delete-workspaces',
      'stacks-enabled',
      'registry-monorepo-support-enabled',
    ],
    booleanSetting(false),
  ),
  [USER_TOKENS_ENABLED]: booleanSetting(true),
};

/** Permissions for features that do not exist here. No caller has them. */
const UNAVAILABLE_PERMISSIONS = [
  'can-create-workspace-migration',
  'can-deploy-no-code-modules',
  'can-manage-no-code-modules',
  'can-view-hyok-feature-info',
  'can-update-hyok-configuration',
  'can-enable-stacks',
];

const CONSTANT_ATTRIBUTES = {
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
    ...Object.fromEntries(
      Object.keys(CONSTANT_ATTRIBUTES).map((name) => [name, Type.Union([Type.Boolean(), Type.Null()])]),
    ),
    permissions: Type.Record(Type.String(), Type.Boolean()),
    'owners-count': Type.Optional(
      Type.Integer({ minimum: 0, description: 'Only at the paths of site administrators.' }),
    ),
  },
  relationships: { 'default-project': toOne('projects') },
});

export function organizationToJson(role: CallerRole): Resource {
  const { organization } = role;
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
      ...settingsToJson(organizationSettings, organization.settings),
      ...CONSTANT_ATTRIBUTES,
      permissions: permissions(role),
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

export const organizationDocument = (role: CallerRole): Document => ({ data: organizationToJson(role) });

export const organizationRelationship = (name: string) => ({
  data: { id: name, type: 'organizations' },
  links: { related: organizationPath(name) },
});

function permissions(role: CallerRole): Readonly<Record<string, boolean>> {
  const { permissions: held } = role;
  const isOwner = canUpdateOrganization(role);
  return {
    'can-create-team': hasTeamManagement(role) && canCreateTeams(role),
    'can-create-workspace': canCreateWorkspaces(role),
    'can-create-project': held.has('manage-projects'),
    'can-destroy': isOwner,
    'can-manage-auditing': isOwner,
    'can-manage-run-tasks': held.has('manage-run-tasks'),
    'can-traverse': true,
    'can-update': isOwner,
    'can-update-api-token': isOwner,
    'can-update-oauth': held.has('manage-vcs-settings'),
    'can-update-sentinel': held.has('manage-policies'),
    ...Object.fromEntries(UNAVAILABLE_PERMISSIONS.map((name) => [name, false])),
  };
}

const UNAVAILABLE_FEATURES = [
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
    ['teams', 'audit-logging', ...UNAVAILABLE_FEATURES].map((name) => [name, Type.Boolean()]),
  ),
});

/** Returns the features that an organization's plan includes. */
export function entitlementSetToJson(role: CallerRole): Resource {
  const { organization } = role;
  const standard = hasTeamManagement(role);
  return {
    id: organization.id,
    type: 'entitlement-sets',
    attributes: {
      teams: standard,
      'audit-logging': standard,
      ...Object.fromEntries(UNAVAILABLE_FEATURES.map((name) => [name, false])),
    },
    links: { self: `${organizationPath(organization.name)}/entitlement-set` },
  };
}
