/** The endpoints of teams and their members. */
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { mapInSlices, oneStep } from '../../state/clock/slices.ts';
import { comparisonBudget } from '../authorization/compare-team.ts';
import { organizationWithTeams, teamById } from '../authorization/find-visible.ts';
import { includedWithTeams, TEAM_INCLUDES, teamDocument, teamSchema, teamToJson } from '../documents/team-to-json.ts';
import {
  serveDelete,
  serveLargeWrite,
  serveLongRead,
  serveWrite,
  type TeamAccessService,
} from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH, ifMatch, longDocumentAnswer, NO_CONTENT } from '../jsonapi/documents.ts';
import { boundedLinkage, includeParameter, readInclude } from '../jsonapi/include.ts';
import { NAME_FILTER, PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { readIdentifiers, readResource } from '../jsonapi/read-resource.ts';
import { documentSchema, identifiersSchema, pageSchema } from '../jsonapi/schemas.ts';
import { addMembers, type MemberIdType, removeMembers } from './change-members.ts';
import {
  changedTeamSchema,
  changeTeam,
  createTeam,
  deleteTeam,
  newTeamSchema,
  type TeamTarget,
} from './change-team.ts';
import { listTeams, NAMES_FILTER } from './list-teams.ts';

const INCLUDE = includeParameter(TEAM_INCLUDES);
const id = (call: Call): string => pathParameter(call, 'id');
const target = (call: Call): TeamTarget => ({ id: id(call), precondition: ifMatch(call) });

export function teamEndpoints(service: TeamAccessService): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/teams',
      summary: 'Lists the teams of an organization',
      conditional: true,
      query: [...PAGE_PARAMETERS, NAME_FILTER, NAMES_FILTER, INCLUDE],
      answer: pageSchema(teamSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const include = readInclude(call.query, TEAM_INCLUDES);
          const role = organizationWithTeams(reader, caller, pathParameter(call, 'name'));
          const all = yield* listTeams(reader, role, call.query);
          const found = slicePage(all, page).map((team) => ({ role, team }));
          const linkage = boundedLinkage();
          const budget = comparisonBudget();
          const data = yield* mapInSlices(found, (one) => teamToJson(reader, one, linkage, budget));
          const included = yield* includedWithTeams(reader, found, include);
          return yield* longDocumentAnswer(
            call,
            pageDocument(call, page, { data, totalCount: all.length, ...included }),
          );
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organizations/:name/teams',
      summary: 'Creates a team',
      body: newTeamSchema,
      answer: documentSchema(teamSchema),
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'teams' }),
          change: (context, { attributes }) =>
            documentAnswer(
              call,
              teamDocument(context.tx, createTeam(context, pathParameter(call, 'name'), attributes)),
            ),
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/teams/:id',
      summary: 'Reads a team',
      conditional: true,
      query: [INCLUDE],
      answer: documentSchema(teamSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const include = readInclude(call.query, TEAM_INCLUDES);
          const found = teamById(reader, caller, id(call));
          return yield* longDocumentAnswer(call, {
            ...teamDocument(reader, found),
            ...(yield* includedWithTeams(reader, [found], include)),
          });
        }),
    },
    {
      method: 'PATCH',
      path: '/api/v2/teams/:id',
      summary: 'Updates a team',
      headers: [IF_MATCH],
      body: changedTeamSchema,
      answer: documentSchema(teamSchema),
      handle: (call) =>
        serveWrite(service, call, {
          conditional: true,
          parse: () => readResource(call.body, { type: 'teams', updates: id(call) }),
          change: (context, { attributes }) =>
            documentAnswer(call, teamDocument(context.tx, changeTeam(context, target(call), attributes))),
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/teams/:id',
      summary: 'Deletes a team with its rows and tokens',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) => serveDelete(service, call, (context) => deleteTeam(context, target(call))),
    },
    ...memberEndpoints(service, 'users', 'by username'),
    ...memberEndpoints(service, 'organization-memberships', 'by membership ID'),
  ];
}

function memberEndpoints(service: TeamAccessService, idType: MemberIdType, how: string): Endpoint[] {
  const path = `/api/v2/teams/:id/relationships/${idType}`;
  const changes = [
    { method: 'POST', verb: 'Adds members to a team', apply: addMembers },
    { method: 'DELETE', verb: 'Removes members from a team', apply: removeMembers },
  ] as const;
  return changes.map(({ method, verb, apply }) => ({
    method,
    path,
    summary: `${verb}, ${how}`,
    status: 204,
    body: identifiersSchema(idType),
    handle: (call) =>
      serveLargeWrite(service, call, {
        parse: () => oneStep(() => readIdentifiers(call.body, idType)),
        *change(context, ids) {
          yield* apply(context, { teamId: id(call), idType, ids });
          return NO_CONTENT;
        },
      }),
  }));
}
