/** Makes, changes and deletes workspaces. */
import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { newId } from '../../credentials/secret.ts';
import type { Call } from '../../http/call.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import type { Caller } from '../authorization/caller.ts';
import { accessOn } from '../authorization/caller-role.ts';
import { type FoundWorkspace, organizationNamed } from '../authorization/find-visible.ts';
import { changesWorkspace, makesWorkspaces } from '../authorization/permissions.ts';
import { workspaceSettings } from '../documents/workspace-settings.ts';
import { workspaceDocument } from '../documents/workspace-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { checkIfMatch } from '../jsonapi/documents.ts';
import { type Fault, JsonApiError, notFound, throwFaults } from '../jsonapi/errors.ts';
import { type Given, nameTaken, readName } from '../jsonapi/read-attributes.ts';
import type { GivenResource } from '../jsonapi/read-resource.ts';
import { bodyOf, toOne } from '../jsonapi/schemas.ts';
import { readSettings, settingProperties } from '../jsonapi/settings.ts';
import { NAME_CHARACTERS_MAX } from '../limits.ts';
import { nameWithin } from '../tables/organization.ts';
import { projects } from '../tables/project.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';

const attributes = {
  name: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
  ...settingProperties(workspaceSettings),
};
const relationships = { project: Type.Optional(toOne('projects')) };

export const newWorkspaceSchema = bodyOf('workspaces', { attributes, relationships, required: ['name'] });
export const changedWorkspaceSchema = bodyOf('workspaces', { attributes, relationships });

/** How an operation finds its workspace. @throws JsonApiError `not-found` */
export type FindWorkspace = (reader: Reader, caller: Caller) => FoundWorkspace;

/** `POST /organizations/:name/workspaces`. @throws JsonApiError `not-found`, `invalid-attribute` */
export function createWorkspace(
  { tx, caller, origin }: Writing,
  organization: string,
  { attributes: given, relationships: related }: GivenResource,
): FoundWorkspace {
  const standing = organizationNamed(tx, caller, organization);
  if (!makesWorkspaces(standing)) throw notFound();
  const { id: organizationId, defaultProjectId } = standing.organization;
  const projectId = related.get('project') ?? defaultProjectId;
  if (tx.get(projects, projectId)?.row.organizationId !== organizationId) throw notFound();
  const { name = '', settings } = readWorkspaceBody(given, true);
  if (tx.find(workspaces, 'name', nameWithin(organizationId, name)) !== undefined) {
    throw new JsonApiError([nameTaken()]);
  }
  const createTime = new Date(tx.now).toISOString();
  const workspace: Workspace = {
    id: tx.once(() => newId('ws')),
    organizationId,
    projectId,
    name,
    settings,
    createTime,
    updateTime: createTime,
    place: tx.position,
  };
  tx.put(workspaces, workspace);
  recordTeamAccess(tx, origin, {
    organizationId,
    action: 'create',
    type: 'workspaces',
    subject: workspace.id,
    before: null,
    after: workspace,
  });
  const access = accessOn(tx, standing, workspace.id);
  if (access === undefined) throw new TypeError('who made a workspace has no access to it');
  return { standing, workspace, access };
}

/** `PATCH` of a workspace. @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function changeWorkspace(
  { tx, caller, origin }: Writing,
  call: Call,
  { find, given }: { readonly find: FindWorkspace; readonly given: GivenResource },
): FoundWorkspace {
  const found = find(tx, caller);
  if (!changesWorkspace(found.access)) throw notFound();
  const { workspace: before } = found;
  const { organizationId } = before;
  const projectId = given.relationships.get('project') ?? before.projectId;
  if (tx.get(projects, projectId)?.row.organizationId !== organizationId) throw notFound();
  const { name = before.name, settings } = readWorkspaceBody(given.attributes, false);
  const next: Workspace = { ...before, name, projectId, settings: { ...before.settings, ...settings } };
  const holder = tx.find(workspaces, 'name', nameWithin(organizationId, name))?.row;
  if (holder !== undefined && holder.id !== before.id) throw new JsonApiError([nameTaken()]);
  checkIfMatch(call, () => workspaceDocument(found));
  if (isDeepStrictEqual(before, next)) return found;
  const after: Workspace = { ...next, updateTime: new Date(tx.now).toISOString() };
  tx.put(workspaces, after);
  const change = { action: 'update', type: 'workspaces', subject: before.id, before, after };
  recordTeamAccess(tx, origin, { organizationId, ...change });
  return { ...found, workspace: after };
}

/** `DELETE` of a workspace; its rows go with it. @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteWorkspace({ tx, caller, origin }: Writing, call: Call, find: FindWorkspace): void {
  const found = find(tx, caller);
  if (!changesWorkspace(found.access)) throw notFound();
  checkIfMatch(call, () => workspaceDocument(found));
  const { id, organizationId } = found.workspace;
  tx.delete(workspaces, id);
  const change = { action: 'destroy', type: 'workspaces', subject: id, before: found.workspace, after: null };
  recordTeamAccess(tx, origin, { organizationId, ...change });
}

interface WorkspaceBody {
  readonly name?: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

function readWorkspaceBody(given: Given, isNew: boolean): WorkspaceBody {
  const faults: Fault[] = [];
  const name = readName(given, faults, { maximum: NAME_CHARACTERS_MAX, optional: !isNew });
  const settings = readSettings(workspaceSettings, given, faults);
  throwFaults(faults);
  return { settings, ...(name !== undefined && { name }) };
}
