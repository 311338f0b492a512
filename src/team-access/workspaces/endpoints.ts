/** `/organizations/:name/workspaces` and `/workspaces/:id`: a workspace is found by its name or by its id. */
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { accessOn } from '../authorization/caller-role.ts';
import { organizationNamed, workspaceById, workspaceNamed } from '../authorization/find-visible.ts';
import { showWorkspace, workspaceDocument, workspaceSchema } from '../documents/workspace-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentOf, pageOf } from '../jsonapi/schemas.ts';
import {
  changedWorkspaceSchema,
  changeWorkspace,
  createWorkspace,
  deleteWorkspace,
  type FindWorkspace,
  newWorkspaceSchema,
} from './change-workspace.ts';
import { listWorkspaces, SEARCH_NAME } from './list-workspaces.ts';

const PROJECT = [{ name: 'project', type: 'projects' }];

export function workspaceEndpoints(service: TeamAccess): Endpoint[] {
  const named = '/api/v2/organizations/:name/workspaces';
  return [
    {
      method: 'GET',
      path: named,
      summary: 'Lists the workspaces of an organization',
      conditional: true,
      query: [...PAGE_PARAMETERS, SEARCH_NAME],
      answer: pageOf(workspaceSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          const standing = organizationNamed(reader, caller, pathParameter(call, 'name'));
          const all = listWorkspaces(reader, standing, call.query);
          const data = onPage(all, page).map(({ row: workspace }) => {
            const access = accessOn(reader, standing, workspace.id);
            if (access === undefined) throw notFound();
            return showWorkspace({ standing, workspace, access });
          });
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'POST',
      path: named,
      summary: 'Makes a workspace',
      body: newWorkspaceSchema,
      answer: documentOf(workspaceSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'workspaces', relationships: PROJECT }),
          change: (writing, given) =>
            documentAnswer(call, workspaceDocument(createWorkspace(writing, pathParameter(call, 'name'), given)), 201),
        }),
    },
    ...endpointsOfOne(
      service,
      `${named}/:workspace`,
      'by its name',
      (call) => (reader, caller) =>
        workspaceNamed(reader, caller, pathParameter(call, 'name'), pathParameter(call, 'workspace')),
    ),
    ...endpointsOfOne(
      service,
      '/api/v2/workspaces/:id',
      'by its id',
      (call) => (reader, caller) => workspaceById(reader, caller, pathParameter(call, 'id')),
    ),
  ];
}

function endpointsOfOne(
  service: TeamAccess,
  path: string,
  how: string,
  findOf: (call: Call) => FindWorkspace,
): Endpoint[] {
  const remove = (call: Call) => serveRemoval(service, call, (writing) => deleteWorkspace(writing, call, findOf(call)));
  return [
    {
      method: 'GET',
      path,
      summary: `Reads a workspace, ${how}`,
      conditional: true,
      answer: documentOf(workspaceSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) =>
          documentAnswer(call, workspaceDocument(findOf(call)(reader, caller))),
        ),
    },
    {
      method: 'PATCH',
      path,
      summary: `Changes a workspace, ${how}`,
      headers: [IF_MATCH],
      body: changedWorkspaceSchema,
      answer: documentOf(workspaceSchema),
      handle: (call) =>
        serveWrite(service, call, {
          conditional: true,
          parse: () =>
            readResource(call.body, {
              type: 'workspaces',
              relationships: PROJECT,
              updates: call.params['id'] ?? null,
            }),
          change: (writing, given) =>
            documentAnswer(call, workspaceDocument(changeWorkspace(writing, call, { find: findOf(call), given }))),
        }),
    },
    {
      method: 'DELETE',
      path,
      summary: `Deletes a workspace with its rows, ${how}`,
      headers: [IF_MATCH],
      status: 204,
      handle: remove,
    },
    {
      method: 'POST',
      path: `${path}/actions/safe-delete`,
      summary: `Deletes a workspace that holds no resources, as all do here, ${how}`,
      headers: [IF_MATCH],
      status: 204,
      handle: remove,
    },
  ];
}
