/** The endpoints of workspaces. Paths name a workspace by organization and name, or by ID [DOC-62]. */
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { mapInSlices } from '../../state/clock/slices.ts';
import { accessToWorkspace } from '../authorization/caller.ts';
import { organizationByName, workspaceById, workspaceByName } from '../authorization/find-visible.ts';
import { workspaceDocument, workspaceSchema, workspaceToJson } from '../documents/workspace-to-json.ts';
import { serveDelete, serveLongRead, serveRead, serveWrite, type TeamAccessService } from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH, longDocumentAnswer } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import { PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
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

export function workspaceEndpoints(service: TeamAccessService): Endpoint[] {
  const collection = '/api/v2/organizations/:name/workspaces';
  return [
    {
      method: 'GET',
      path: collection,
      summary: 'Lists the workspaces of an organization',
      conditional: true,
      query: [...PAGE_PARAMETERS, SEARCH_NAME],
      answer: pageSchema(workspaceSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const role = organizationByName(reader, caller, pathParameter(call, 'name'));
          const all = yield* listWorkspaces(reader, role, call.query);
          const data = yield* mapInSlices(slicePage(all, page), ({ row: workspace }) => {
            const access = accessToWorkspace(reader, role, workspace.id);
            if (access === undefined) throw notFound();
            return workspaceToJson({ role, workspace, access });
          });
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'POST',
      path: collection,
      summary: 'Creates a workspace',
      body: newWorkspaceSchema,
      answer: documentSchema(workspaceSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'workspaces', relationships: PROJECT }),
          change: (context, body) =>
            documentAnswer(call, workspaceDocument(createWorkspace(context, pathParameter(call, 'name'), body)), 201),
        }),
    },
    ...singleWorkspaceEndpoints(
      service,
      `${collection}/:workspace`,
      'by name',
      (call) => (reader, caller) =>
        workspaceByName(reader, caller, pathParameter(call, 'name'), pathParameter(call, 'workspace')),
    ),
    ...singleWorkspaceEndpoints(
      service,
      '/api/v2/workspaces/:id',
      'by ID',
      (call) => (reader, caller) => workspaceById(reader, caller, pathParameter(call, 'id')),
    ),
  ];
}

function singleWorkspaceEndpoints(
  service: TeamAccessService,
  path: string,
  how: string,
  findByPath: (call: Call) => FindWorkspace,
): Endpoint[] {
  const remove = (call: Call) =>
    serveDelete(service, call, (context) => deleteWorkspace(context, call, findByPath(call)));
  return [
    {
      method: 'GET',
      path,
      summary: `Reads a workspace ${how}`,
      conditional: true,
      answer: documentSchema(workspaceSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) =>
          documentAnswer(call, workspaceDocument(findByPath(call)(reader, caller))),
        ),
    },
    {
      method: 'PATCH',
      path,
      summary: `Updates a workspace ${how}`,
      headers: [IF_MATCH],
      body: changedWorkspaceSchema,
      answer: documentSchema(workspaceSchema),
      handle: (call) =>
        serveWrite(service, call, {
          conditional: true,
          parse: () =>
            readResource(call.body, {
              type: 'workspaces',
              relationships: PROJECT,
              updates: call.params['id'] ?? null,
            }),
          change: (context, body) =>
            documentAnswer(call, workspaceDocument(changeWorkspace(context, call, { find: findByPath(call), body }))),
        }),
    },
    {
      method: 'DELETE',
      path,
      summary: `Deletes a workspace with its rows ${how}`,
      headers: [IF_MATCH],
      status: 204,
      handle: remove,
    },
    {
      method: 'POST',
      path: `${path}/actions/safe-delete`,
      summary: `Deletes a workspace without resources ${how}. Workspaces here never have any`,
      headers: [IF_MATCH],
      status: 204,
      handle: remove,
    },
  ];
}
