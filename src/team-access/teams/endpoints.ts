/** `/organizations/:name/teams` and `/teams/:id`. */
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { organizationWithTeams, teamById } from '../authorization/find-visible.ts';
import { includedWithTeams, showTeam, TEAM_INCLUDES, teamDocument, teamSchema } from '../documents/team-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH, ifMatch, nothingAnswer } from '../jsonapi/documents.ts';
import { includeParameter, readInclude } from '../jsonapi/include.ts';
import { namesSome } from '../jsonapi/linkage.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readIdentifiers, readResource } from '../jsonapi/read-resource.ts';
import { documentOf, identifiersOf, pageOf } from '../jsonapi/schemas.ts';
import { Q } from '../organizations/endpoints.ts';
import { addMembers, type NamedBy, removeMembers } from './change-members.ts';
import { changeTeam, createTeam, deleteTeam } from './change-team.ts';
import { listTeams, NAMES } from './list-teams.ts';
import { changedTeamSchema, newTeamSchema } from './read-team-body.ts';

const INCLUDE = includeParameter(TEAM_INCLUDES);
const id = (call: Call): string => pathParameter(call, 'id');
const named = (call: Call) => ({ id: id(call), precondition: ifMatch(call) });

export function teamEndpoints(service: TeamAccess): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/teams',
      summary: 'Lists the teams of an organization',
      conditional: true,
      query: [...PAGE_PARAMETERS, Q, NAMES, INCLUDE],
      answer: pageOf(teamSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          const include = readInclude(call.query, TEAM_INCLUDES);
          const standing = organizationWithTeams(reader, caller, pathParameter(call, 'name'));
          const all = listTeams(reader, standing, call.query);
          const found = onPage(all, page).map((team) => ({ standing, team }));
          const linkage = namesSome();
          const data = found.map((one) => showTeam(reader, one, linkage));
          const included = includedWithTeams(reader, found, include);
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length, ...included }));
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organizations/:name/teams',
      summary: 'Makes a team',
      body: newTeamSchema,
      answer: documentOf(teamSchema),
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'teams' }),
          change: (writing, { attributes }) =>
            documentAnswer(
              call,
              teamDocument(writing.tx, createTeam(writing, pathParameter(call, 'name'), attributes)),
            ),
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/teams/:id',
      summary: 'Reads a team',
      conditional: true,
      query: [INCLUDE],
      answer: documentOf(teamSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const include = readInclude(call.query, TEAM_INCLUDES);
          const found = teamById(reader, caller, id(call));
          return documentAnswer(call, {
            ...teamDocument(reader, found),
            ...includedWithTeams(reader, [found], include),
          });
        }),
    },
    {
      method: 'PATCH',
      path: '/api/v2/teams/:id',
      summary: 'Changes a team',
      headers: [IF_MATCH],
      body: changedTeamSchema,
      answer: documentOf(teamSchema),
      handle: (call) =>
        serveWrite(service, call, {
          conditional: true,
          parse: () => readResource(call.body, { type: 'teams', updates: id(call) }),
          change: (writing, { attributes }) =>
            documentAnswer(call, teamDocument(writing.tx, changeTeam(writing, named(call), attributes))),
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/teams/:id',
      summary: 'Deletes a team with its rows and tokens',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) => serveRemoval(service, call, (writing) => deleteTeam(writing, named(call))),
    },
    ...memberEndpoints(service, 'users', 'by their usernames'),
    ...memberEndpoints(service, 'organization-memberships', 'by their memberships'),
  ];
}

function memberEndpoints(service: TeamAccess, by: NamedBy, how: string): Endpoint[] {
  const path = `/api/v2/teams/:id/relationships/${by}`;
  const ways = [
    { method: 'POST', verb: 'Adds members to a team', apply: addMembers },
    { method: 'DELETE', verb: 'Removes members from a team', apply: removeMembers },
  ] as const;
  return ways.map(({ method, verb, apply }) => ({
    method,
    path,
    summary: `${verb}, ${how}`,
    status: 204,
    body: identifiersOf(by),
    handle: (call) =>
      serveWrite(service, call, {
        parse: () => readIdentifiers(call.body, by),
        change(writing, ids) {
          apply(writing, { teamId: id(call), by, ids });
          return nothingAnswer;
        },
      }),
  }));
}
