/** The settings of a workspace, and the JSON form of a workspace for a caller who has access to it. */

import { Type } from 'typebox';
import type { EffectiveAccess } from '../authorization/effective-access.ts';
import type { FoundWorkspace } from '../authorization/find-visible.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import {
  booleanMapSetting,
  booleanSetting,
  nullableTextSetting,
  repeatSetting,
  type Settings,
  settingProperties,
  settingsToJson,
  textListSetting,
  textSetting,
  withoutEffect,
} from '../jsonapi/settings.ts';
import { rankOf } from '../tables/team-workspace.ts';
import { organizationRelationship } from './organization-to-json.ts';
import { workspacePath } from './paths.ts';

const neverDestroyed = withoutEffect(
  nullableTextSetting,
  [null],
  'the server runs nothing, so it would not destroy anything: want null',
);

/** Settings that the server stores and returns. They describe runs, which the server does not have [AUTHZ-94]. */
export const workspaceSettings: Settings = {
  description: nullableTextSetting,
  'execution-mode': textSetting('remote'),
  'terraform-version': nullableTextSetting,
  'working-directory': nullableTextSetting,
  'trigger-prefixes': textListSetting,
  'trigger-patterns': textListSetting,
  'source-name': nullableTextSetting,
  'source-url': nullableTextSetting,
  'auto-destroy-at': neverDestroyed,
  'auto-destroy-activity-duration': neverDestroyed,
  ...repeatSetting(
    [
      'allow-destroy-plan',
      'file-triggers-enabled',
      'inherits-project-auto-destroy',
      'speculative-enabled',
      'structured-run-output-enabled',
      'operations',
    ],
    booleanSetting(true),
  ),
  ...repeatSetting(
    [
      'assessments-enabled',
      'auto-apply',
      'auto-apply-run-trigger',
      'global-remote-state',
      'project-remote-state',
      'queue-all-runs',
    ],
    booleanSetting(false),
  ),
  'setting-overwrites': booleanMapSetting,
};

export const workspaceSchema = resourceSchema('workspaces', 'Workspace', {
  attributes: {
    name: Type.String(),
    'created-at': Type.String(),
    'updated-at': Type.String(),
    locked: Type.Boolean(),
    'resource-count': Type.Integer(),
    source: Type.String(),
    'tag-names': Type.Array(Type.String()),
    'vcs-repo': Type.Null(),
    actions: Type.Object({ 'is-destroyable': Type.Boolean() }),
    ...settingProperties(workspaceSettings),
    permissions: Type.Record(Type.String(), Type.Boolean()),
  },
  relationships: { organization: toOne('organizations'), project: toOne('projects') },
});

export function workspaceToJson({ role, workspace, access }: FoundWorkspace): Resource {
  return {
    id: workspace.id,
    type: 'workspaces',
    attributes: {
      name: workspace.name,
      'created-at': workspace.createTime,
      'updated-at': workspace.updateTime,
      locked: false,
      'resource-count': 0,
      source: 'tfe-api',
      'tag-names': [],
      'vcs-repo': null,
      actions: { 'is-destroyable': true },
      ...settingsToJson(workspaceSettings, workspace.settings),
      permissions: workspacePermissions(access),
    },
    relationships: {
      organization: organizationRelationship(role.organization.name),
      project: {
        data: { id: workspace.projectId, type: 'projects' },
        links: { related: `/api/v2/projects/${workspace.projectId}` },
      },
    },
    links: { self: workspacePath(role.organization.name, workspace.name) },
  };
}

export const workspaceDocument = (found: FoundWorkspace): Document => ({ data: workspaceToJson(found) });

function workspacePermissions({ access, attributes }: EffectiveAccess): Readonly<Record<string, boolean>> {
  const admin = access === 'admin';
  const runs = rankOf('runs', attributes.runs);
  const variables = rankOf('variables', attributes.variables);
  const state = rankOf('state-versions', attributes['state-versions']);
  return {
    'can-update': admin,
    'can-destroy': admin,
    'can-queue-run': runs >= rankOf('runs', 'plan'),
    'can-queue-apply': runs >= rankOf('runs', 'apply'),
    'can-queue-destroy': runs >= rankOf('runs', 'apply'),
    'can-read-run': true,
    'can-read-variable': variables >= rankOf('variables', 'read'),
    'can-update-variable': variables >= rankOf('variables', 'write'),
    'can-read-state-versions': state >= rankOf('state-versions', 'read'),
    'can-read-state-outputs': state >= rankOf('state-versions', 'read-outputs'),
    'can-create-state-versions': state >= rankOf('state-versions', 'write'),
    'can-lock': attributes['workspace-locking'],
    'can-unlock': attributes['workspace-locking'],
    'can-force-unlock': admin,
    'can-read-settings': true,
    'can-manage-tags': admin,
    'can-manage-run-tasks': attributes['run-tasks'],
    'can-manage-assessments': admin,
    'can-force-delete': admin,
  };
}
