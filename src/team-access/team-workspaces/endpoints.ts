/** `/team-workspaces`: what is sent is read here, everything else is in the operations. */
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { teamById } from '../authorization/find-visible.ts';
import {
  rowDocument,
  showTeamWorkspace,
  TEAM_WORKSPACES,
  teamWorkspaceSchema,
} from '../documents/team-workspace-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { bytesHeld, documentAnswer, IF_MATCH, ifMatch, writeDocument, writtenAnswer } from '../jsonapi/documents.ts';
import { includeParameter, readInclude } from '../jsonapi/include.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentOf, pageOf } from '../jsonapi/schemas.ts';
import { changedTeamWorkspace, changeTeamWorkspace, deleteTeamWorkspace } from './change-team-workspace.ts';
import { createTeamWorkspace, NEW_TEAM_WORKSPACE } from './create-team-workspace.ts';
import { type FoundRow, rowById } from './find-row.ts';
import { includedWithRows, ROW_INCLUDES, type RowInclude } from './include-related.ts';
import { readRowQuery, rowsOfTeam, rowsOfWorkspace, TEAM_FILTER, WORKSPACE_FILTER } from './list-team-workspaces.ts';
import { changedTeamWorkspaceSchema, newTeamWorkspaceSchema } from './read-access.ts';

const INCLUDE = includeParameter(ROW_INCLUDES);
const id = (call: Call): string => pathParameter(call, 'id');

export function teamWorkspaceEndpoints(service: TeamAccess): Endpoint[] {
  const { terraform } = service;
  const schema = teamWorkspaceSchema(terraform);
  const named = (call: Call) => ({ id: id(call), precondition: ifMatch(call), terraform });
  const show = (reader: Reader, found: readonly FoundRow[], include: ReadonlySet<RowInclude>) => ({
    data: found.map((one) => showTeamWorkspace(one, terraform)),
    ...includedWithRows(reader, found, include),
  });
  return [
    {
      method: 'GET',
      path: '/api/v2/team-workspaces',
      summary: 'Lists what teams may do on a workspace; in pages where one is asked for',
      conditional: true,
      query: [WORKSPACE_FILTER, TEAM_FILTER, ...PAGE_PARAMETERS, INCLUDE],
      answer: pageOf(schema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const include = readInclude(call.query, ROW_INCLUDES);
          const wanted = readRowQuery(call.query);
          const all = rowsOfWorkspace(reader, caller, wanted);
          const { page } = wanted;
          if (page === undefined) return documentAnswer(call, show(reader, all, include));
          const shown = show(reader, onPage(all, page), include);
          return documentAnswer(call, pageDocument(call, page, { ...shown, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/teams/:id/team-workspaces',
      summary: 'Lists on which workspaces a team may do what',
      conditional: true,
      query: [...PAGE_PARAMETERS, INCLUDE],
      answer: pageOf(schema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const include = readInclude(call.query, ROW_INCLUDES);
          const page = readPageAlways(call.query);
          const all = rowsOfTeam(reader, teamById(reader, caller, id(call)));
          const found = onPage(all, page).map((row) => rowById(reader, caller, row.id));
          const shown = show(reader, found, include);
          return documentAnswer(call, pageDocument(call, page, { ...shown, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/team-workspaces/:id',
      summary: 'Reads what a team may do on a workspace',
      conditional: true,
      query: [INCLUDE],
      answer: documentOf(schema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const include = readInclude(call.query, ROW_INCLUDES);
          const found = rowById(reader, caller, id(call));
          if (include.size > 0) {
            const included = includedWithRows(reader, [found], include);
            return documentAnswer(call, { ...rowDocument(found, terraform), ...included });
          }
          // The same to everybody who sees it.
          const key = `${TEAM_WORKSPACES}\0${found.row.id}`;
          return writtenAnswer(
            call,
            reader.memo(key, () => writeDocument(rowDocument(found, terraform)), bytesHeld),
          );
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/team-workspaces',
      summary: 'Gives a team access to a workspace',
      body: newTeamWorkspaceSchema(terraform),
      answer: documentOf(schema),
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, NEW_TEAM_WORKSPACE),
          change: (writing, body) =>
            documentAnswer(call, rowDocument(createTeamWorkspace(writing, body, terraform), terraform)),
        }),
    },
    {
      method: 'PATCH',
      path: '/api/v2/team-workspaces/:id',
      summary: 'Changes what a team may do on a workspace',
      headers: [IF_MATCH],
      body: changedTeamWorkspaceSchema(terraform),
      answer: documentOf(schema),
      handle: (call) =>
        serveWrite(service, call, {
          conditional: true,
          parse: () => readResource(call.body, changedTeamWorkspace(id(call))),
          change: (writing, body) =>
            documentAnswer(call, rowDocument(changeTeamWorkspace(writing, named(call), body), terraform)),
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/team-workspaces/:id',
      summary: 'Takes the access of a team to a workspace away',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) => serveRemoval(service, call, (writing) => deleteTeamWorkspace(writing, named(call))),
    },
  ];
}
