/** The endpoints of `/team-workspaces`, and `GET /teams/:id/team-workspaces` [TEAM-48]. */
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { mapInSlices, runAtOnce, type Steps } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { comparisonBudget } from '../authorization/compare-team.ts';
import { teamById } from '../authorization/find-visible.ts';
import { canSeeTeam } from '../authorization/permissions.ts';
import { teamToJson } from '../documents/team-to-json.ts';
import {
  TEAM_WORKSPACES,
  teamWorkspaceDocument,
  teamWorkspaceSchema,
  teamWorkspaceToJson,
} from '../documents/team-workspace-to-json.ts';
import { workspaceToJson } from '../documents/workspace-to-json.ts';
import { serveDelete, serveLongRead, serveRead, serveWrite, type TeamAccessService } from '../http/request-pipeline.ts';
import {
  bytesInMemory,
  documentAnswer,
  IF_MATCH,
  ifMatch,
  longDocumentAnswer,
  type Resource,
  serializeDocument,
  serializedAnswer,
} from '../jsonapi/documents.ts';
import { boundedLinkage, collectIncluded, includeParameter, readInclude } from '../jsonapi/include.ts';
import { PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
import { teams } from '../tables/team.ts';
import {
  changeTeamWorkspace,
  createTeamWorkspace,
  deleteTeamWorkspace,
  NEW_TEAM_WORKSPACE,
  type RowTarget,
  teamWorkspaceUpdate,
} from './change-team-workspace.ts';
import {
  type FoundRow,
  readRowQuery,
  rowById,
  rowsOfTeam,
  rowsOfWorkspace,
  TEAM_FILTER,
  WORKSPACE_FILTER,
} from './find-rows.ts';
import { changedTeamWorkspaceSchema, newTeamWorkspaceSchema } from './read-access.ts';

const ROW_INCLUDES = ['team', 'workspace'] as const;
type RowInclude = (typeof ROW_INCLUDES)[number];

const INCLUDE = includeParameter(ROW_INCLUDES);
const id = (call: Call): string => pathParameter(call, 'id');

export function teamWorkspaceEndpoints(service: TeamAccessService): Endpoint[] {
  const { terraform } = service;
  const schema = teamWorkspaceSchema(terraform);
  const target = (call: Call): RowTarget => ({ id: id(call), precondition: ifMatch(call), terraform });
  const rowsToJson = function* (reader: Reader, found: readonly FoundRow[], include: ReadonlySet<RowInclude>) {
    const data = yield* mapInSlices(found, (one) => teamWorkspaceToJson(one, terraform));
    return { data, ...(yield* includedResources(reader, found, include)) };
  };
  return [
    {
      method: 'GET',
      path: '/api/v2/team-workspaces',
      summary: 'Lists the team access of a workspace, in pages if a page is requested',
      conditional: true,
      query: [WORKSPACE_FILTER, TEAM_FILTER, ...PAGE_PARAMETERS, INCLUDE],
      answer: pageSchema(schema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const include = readInclude(call.query, ROW_INCLUDES);
          const query = readRowQuery(call.query);
          const all = yield* rowsOfWorkspace(reader, caller, query);
          const { page } = query;
          if (page === undefined) return yield* longDocumentAnswer(call, yield* rowsToJson(reader, all, include));
          const shown = yield* rowsToJson(reader, slicePage(all, page), include);
          return yield* longDocumentAnswer(call, pageDocument(call, page, { ...shown, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/teams/:id/team-workspaces',
      summary: 'Lists the team access of a team',
      conditional: true,
      query: [...PAGE_PARAMETERS, INCLUDE],
      answer: pageSchema(schema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const include = readInclude(call.query, ROW_INCLUDES);
          const page = readPageOrDefault(call.query);
          const all = yield* rowsOfTeam(reader, teamById(reader, caller, id(call)));
          const found = yield* mapInSlices(slicePage(all, page), (row) => rowById(reader, caller, row.id));
          const shown = yield* rowsToJson(reader, found, include);
          return yield* longDocumentAnswer(call, pageDocument(call, page, { ...shown, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/team-workspaces/:id',
      summary: 'Reads a team access',
      conditional: true,
      query: [INCLUDE],
      answer: documentSchema(schema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const include = readInclude(call.query, ROW_INCLUDES);
          const found = rowById(reader, caller, id(call));
          if (include.size > 0) {
            const included = runAtOnce(includedResources(reader, [found], include));
            return documentAnswer(call, { ...teamWorkspaceDocument(found, terraform), ...included });
          }
          // The document is the same for every caller who can see the row [TEAM-52].
          const key = `${TEAM_WORKSPACES}\0${found.row.id}`;
          return serializedAnswer(
            call,
            reader.memoize(key, () => serializeDocument(teamWorkspaceDocument(found, terraform)), bytesInMemory),
          );
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/team-workspaces',
      summary: 'Adds a team to a workspace',
      body: newTeamWorkspaceSchema(terraform),
      answer: documentSchema(schema),
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, NEW_TEAM_WORKSPACE),
          change: (context, body) =>
            documentAnswer(call, teamWorkspaceDocument(createTeamWorkspace(context, body, terraform), terraform)),
        }),
    },
    {
      method: 'PATCH',
      path: '/api/v2/team-workspaces/:id',
      summary: 'Updates a team access',
      headers: [IF_MATCH],
      body: changedTeamWorkspaceSchema(terraform),
      answer: documentSchema(schema),
      handle: (call) =>
        serveWrite(service, call, {
          conditional: true,
          parse: () => readResource(call.body, teamWorkspaceUpdate(id(call))),
          change: (context, body) =>
            documentAnswer(call, teamWorkspaceDocument(changeTeamWorkspace(context, target(call), body), terraform)),
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/team-workspaces/:id',
      summary: 'Removes a team from a workspace',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) => serveDelete(service, call, (context) => deleteTeamWorkspace(context, target(call))),
    },
  ];
}

/** Includes teams and workspaces of rows. Teams that are hidden from the caller are left out [DOC-31]. */
function* includedResources(
  reader: Reader,
  found: readonly FoundRow[],
  include: ReadonlySet<RowInclude>,
): Steps<{ readonly included?: readonly Resource[] }> {
  if (include.size === 0) return {};
  const included = collectIncluded(found.length);
  const linkage = boundedLinkage();
  const budget = comparisonBudget();
  for (const { row, role } of include.has('team') ? found : []) {
    yield;
    const team = reader.get(teams, row.teamId)?.row;
    if (team === undefined || !canSeeTeam(role, team)) continue;
    included.add('teams', team.id, () => teamToJson(reader, { role, team }, linkage, budget));
  }
  for (const one of include.has('workspace') ? found : []) {
    yield;
    included.add('workspaces', one.workspace.id, () => workspaceToJson(one));
  }
  return { included: included.all() };
}
