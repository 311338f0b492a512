/** Creates, updates, and deletes workspaces [AUTHZ-21]. */
import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { newId } from '../../credentials/ids-and-secrets.ts';
import type { Call } from '../../http/call.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { recordTeamAccessChange } from '../audit.ts';
import { accessToWorkspace, type Caller } from '../authorization/caller.ts';
import { type FoundWorkspace, organizationByName } from '../authorization/find-visible.ts';
import { canCreateWorkspaces, canUpdateWorkspace } from '../authorization/permissions.ts';
import { workspaceDocument, workspaceSettings } from '../documents/workspace-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { ifMatch } from '../jsonapi/documents.ts';
import { type ErrorObject, JsonApiError, notFound, throwErrors } from '../jsonapi/errors.ts';
import { nameTakenError, readName } from '../jsonapi/read-attributes.ts';
import type { ParsedResource, RawAttributes } from '../jsonapi/read-resource.ts';
import { bodySchema, toOne } from '../jsonapi/schemas.ts';
import { readSettings, settingProperties } from '../jsonapi/settings.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import { nameInOrganization } from '../tables/organization.ts';
import { projects } from '../tables/project.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';

const attributeSchemas = {
  name: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
  ...settingProperties(workspaceSettings),
};
const relationshipSchemas = { project: Type.Optional(toOne('projects')) };

export const newWorkspaceSchema = bodySchema('workspaces', {
  attributes: attributeSchemas,
  relationships: relationshipSchemas,
  required: ['name'],
});
export const changedWorkspaceSchema = bodySchema('workspaces', {
  attributes: attributeSchemas,
  relationships: relationshipSchemas,
});

/** Finds the workspace of a request by ID or by name. @throws JsonApiError `not-found` */
export type FindWorkspace = (reader: Reader, caller: Caller) => FoundWorkspace;

/** Creates a workspace. @throws JsonApiError `not-found`, `invalid-attribute` */
export function createWorkspace(
  { tx, caller, origin }: WriteContext,
  organization: string,
  { attributes, relationships }: ParsedResource,
): FoundWorkspace {
  const role = organizationByName(tx, caller, organization);
  if (!canCreateWorkspaces(role)) throw notFound();
  const { id: organizationId, defaultProjectId } = role.organization;
  const projectId = relationships.get('project') ?? defaultProjectId;
  if (tx.get(projects, projectId)?.row.organizationId !== organizationId) throw notFound();
  const { name = '', settings } = readWorkspaceBody(attributes, true);
  if (tx.find(workspaces, 'name', nameInOrganization(organizationId, name)) !== undefined) {
    throw new JsonApiError([nameTakenError()]);
  }
  const createTime = new Date(tx.now).toISOString();
  const workspace: Workspace = {
    id: tx.memoizeAcrossRetries(() => newId('ws')),
    organizationId,
    projectId,
    name,
    settings,
    createTime,
    updateTime: createTime,
    place: tx.position,
  };
  tx.put(workspaces, workspace);
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action: 'create',
    type: 'workspaces',
    subject: workspace.id,
    before: null,
    after: workspace,
  });
  const access = accessToWorkspace(tx, role, workspace.id);
  if (access === undefined) throw new TypeError('the creator of the workspace has no access to it');
  return { role, workspace, access };
}

/** Updates a workspace. @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function changeWorkspace(
  { tx, caller, origin }: WriteContext,
  call: Call,
  { find, body }: { readonly find: FindWorkspace; readonly body: ParsedResource },
): FoundWorkspace {
  const found = find(tx, caller);
  if (!canUpdateWorkspace(found.access)) throw notFound();
  const { workspace: before } = found;
  const { organizationId } = before;
  const projectId = body.relationships.get('project') ?? before.projectId;
  if (tx.get(projects, projectId)?.row.organizationId !== organizationId) throw notFound();
  const { name = before.name, settings } = readWorkspaceBody(body.attributes, false);
  const next: Workspace = { ...before, name, projectId, settings: { ...before.settings, ...settings } };
  const sameName = tx.find(workspaces, 'name', nameInOrganization(organizationId, name))?.row;
  if (sameName !== undefined && sameName.id !== before.id) throw new JsonApiError([nameTakenError()]);
  ifMatch(call)(() => workspaceDocument(found));
  if (isDeepStrictEqual(before, next)) return found;
  const after: Workspace = { ...next, updateTime: new Date(tx.now).toISOString() };
  tx.put(workspaces, after);
  const change = { action: 'update', type: 'workspaces', subject: before.id, before, after };
  recordTeamAccessChange(tx, origin, { organizationId, ...change });
  return { ...found, workspace: after };
}

/** Deletes a workspace with its rows [AUTHZ-83]. @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteWorkspace({ tx, caller, origin }: WriteContext, call: Call, find: FindWorkspace): void {
  const found = find(tx, caller);
  if (!canUpdateWorkspace(found.access)) throw notFound();
  ifMatch(call)(() => workspaceDocument(found));
  const { id, organizationId } = found.workspace;
  tx.delete(workspaces, id);
  const change = { action: 'destroy', type: 'workspaces', subject: id, before: found.workspace, after: null };
  recordTeamAccessChange(tx, origin, { organizationId, ...change });
}

interface WorkspaceBody {
  readonly name?: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

function readWorkspaceBody(given: RawAttributes, isNew: boolean): WorkspaceBody {
  const errors: ErrorObject[] = [];
  const name = readName(given, errors, { maximum: NAME_CHARACTERS_MAX, optional: !isNew });
  const settings = readSettings(workspaceSettings, given, errors);
  throwErrors(errors);
  return { settings, ...(name !== undefined && { name }) };
}
