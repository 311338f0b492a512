/** How a workspace is shown to someone who has access to it. */
import { Type } from 'typebox';
import type { Effective } from '../authorization/effective-access.ts';
import type { FoundWorkspace } from '../authorization/find-visible.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { settingProperties, shownSettings } from '../jsonapi/settings.ts';
import { rankOf } from '../tables/access.ts';
import { organizationPath, toOrganization } from './organization-to-json.ts';
import { workspaceSettings } from './workspace-settings.ts';

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

export function showWorkspace({ standing, workspace, access }: FoundWorkspace): Resource {
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
      ...shownSettings(workspaceSettings, workspace.settings),
      permissions: workspacePermissions(access),
    },
    relationships: {
      organization: toOrganization(standing.organization.name),
      project: {
        data: { id: workspace.projectId, type: 'projects' },
        links: { related: `/api/v2/projects/${workspace.projectId}` },
      },
    },
    links: { self: workspacePath(standing.organization.name, workspace.name) },
  };
}

/** The document of a workspace alone. */
export const workspaceDocument = (found: FoundWorkspace): Document => ({ data: showWorkspace(found) });

/** Where a workspace is. */
export const workspacePath = (organization: string, name: string): string =>
  `${organizationPath(organization)}/workspaces/${name}`;

/** What access to a workspace permits, as clients ask. */
function workspacePermissions({ access, attributes }: Effective): Readonly<Record<string, boolean>> {
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
