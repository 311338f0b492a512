/** `/organizations/:name/organization-memberships` and `/organization-memberships/:id`. */
import { Type } from 'typebox';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { organizationNamed } from '../authorization/find-visible.ts';
import { membershipSchema, showMembership, teamsOf, userOf } from '../documents/organization-membership-to-json.ts';
import { showTeam } from '../documents/team-to-json.ts';
import { showUser } from '../documents/user-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { type Document, documentAnswer, IF_MATCH, ifMatch, type Resource } from '../jsonapi/documents.ts';
import { createIncluded, includeParameter, readInclude } from '../jsonapi/include.ts';
import { namesSome } from '../jsonapi/linkage.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { bodyOf, documentOf, pageOf, toMany } from '../jsonapi/schemas.ts';
import { Q } from '../organizations/endpoints.ts';
import {
  createMembership,
  deleteMembership,
  type FoundMembership,
  membershipById,
  NEW_MEMBERSHIP,
} from './change-membership.ts';
import { EMAIL, listMemberships, STATUS } from './list-memberships.ts';

const INCLUDES = ['user', 'teams'] as const;
const INCLUDE = includeParameter(INCLUDES);

const newMembershipSchema = bodyOf('organization-memberships', {
  attributes: { email: Type.String() },
  relationships: { teams: Type.Optional(toMany('teams')) },
  required: ['email'],
});
const statusCounts = Type.Record(Type.Enum(['total', 'matching', 'active', 'invited']), Type.Integer());

export function membershipEndpoints(service: TeamAccess): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/organization-memberships',
      summary: 'Lists the members of an organization',
      conditional: true,
      query: [...PAGE_PARAMETERS, Q, STATUS, EMAIL, INCLUDE],
      answer: pageOf(membershipSchema, { 'status-counts': statusCounts }),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          const include = readInclude(call.query, INCLUDES);
          const standing = organizationNamed(reader, caller, pathParameter(call, 'name'));
          const { all, counts } = listMemberships(reader, standing, call.query);
          const found = onPage(all, page).map((membership) => ({ standing, membership }));
          const linkage = namesSome();
          const data = found.map(({ membership }) => showMembership(reader, standing, membership, linkage));
          const included = includedWith(reader, found, include);
          const document = pageDocument(call, page, { data, totalCount: all.length, ...included });
          return documentAnswer(call, { ...document, meta: { 'status-counts': counts, ...document.meta } });
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organizations/:name/organization-memberships',
      summary: 'Brings somebody into an organization',
      body: newMembershipSchema,
      answer: documentOf(membershipSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, NEW_MEMBERSHIP),
          change(writing, given) {
            const found = createMembership(writing, pathParameter(call, 'name'), given);
            return documentAnswer(call, membershipDocument(writing.tx, found, new Set(['user'])), 201);
          },
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organization-memberships/:id',
      summary: 'Reads a membership',
      conditional: true,
      query: [INCLUDE],
      answer: documentOf(membershipSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const include = readInclude(call.query, INCLUDES);
          const found = membershipById(reader, caller, pathParameter(call, 'id'));
          return documentAnswer(call, membershipDocument(reader, found, include));
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/organization-memberships/:id',
      summary: 'Takes somebody out of an organization and its teams',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) =>
        serveRemoval(service, call, (writing) => deleteMembership(writing, pathParameter(call, 'id'), ifMatch(call))),
    },
  ];
}

type Include = ReadonlySet<(typeof INCLUDES)[number]>;

const membershipDocument = (reader: Reader, found: FoundMembership, include: Include): Document => ({
  data: showMembership(reader, found.standing, found.membership),
  ...includedWith(reader, [found], include),
});

function includedWith(
  reader: Reader,
  found: readonly FoundMembership[],
  include: Include,
): { readonly included?: readonly Resource[] } {
  if (include.size === 0) return {};
  const included = createIncluded(found.length);
  const linkage = namesSome();
  for (const { standing, membership } of found) {
    if (include.has('user')) included.add('users', membership.userId, () => showUser(userOf(reader, membership)));
    if (!include.has('teams')) continue;
    for (const team of teamsOf(reader, standing, membership)) {
      included.add('teams', team.id, () => showTeam(reader, { standing, team }, linkage));
    }
  }
  return { included: included.all() };
}
