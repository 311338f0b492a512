/** `/organizations/:name/organization-memberships` and `/organization-memberships/:id`. */
import { Type } from 'typebox';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Reader } from '../../state/reader.ts';
import { organizationNamed } from '../find.ts';
import { type Document, documentAnswer, nothingAnswer, type Resource } from '../jsonapi/documents.ts';
import { eachOnce, includeParameter, readInclude } from '../jsonapi/include.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { bodyOf, documentOf, pageOf, toMany } from '../jsonapi/schemas.ts';
import { byCreation } from '../order.ts';
import { Q } from '../organizations/endpoints.ts';
import { serveRead, serveWrite, type TeamAccess } from '../serve.ts';
import type { Standing } from '../standing.ts';
import { showTeam } from '../teams/show-team.ts';
import { showUser } from '../users/show-user.ts';
import {
  createMembership,
  deleteMembership,
  type FoundMembership,
  membershipById,
  NEW_MEMBERSHIP,
} from './change-membership.ts';
import { memberships } from './membership.ts';
import { membershipSchema, showMembership, statusOf, teamsOf, userOf } from './show-membership.ts';

const STATUS: Parameter = {
  name: 'filter[status]',
  description: 'Only those with this status.',
  schema: Type.String(),
};
const EMAIL: Parameter = {
  name: 'filter[email]',
  description: 'Only those with one of these e-mail addresses, separated by commas.',
  schema: Type.String(),
};
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
          const standing = organizationNamed(reader, caller, pathParameter(call, 'name'));
          const page = readPageAlways(call.query);
          const include = readInclude(call.query, INCLUDES);
          const { all, counts } = listMemberships(reader, standing, call.query);
          const found = onPage(all, page);
          const data = found.map(({ membership }) => showMembership(reader, standing, membership));
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
          const found = membershipById(reader, caller, pathParameter(call, 'id'));
          return documentAnswer(call, membershipDocument(reader, found, readInclude(call.query, INCLUDES)));
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/organization-memberships/:id',
      summary: 'Takes somebody out of an organization and its teams',
      status: 204,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => undefined,
          change(writing) {
            deleteMembership(writing, pathParameter(call, 'id'));
            return nothingAnswer;
          },
        }),
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
  const resources: Resource[] = [];
  for (const { standing, membership } of found) {
    if (include.has('user')) resources.push(showUser(userOf(reader, membership)));
    if (!include.has('teams')) continue;
    for (const team of teamsOf(reader, standing, membership)) resources.push(showTeam(reader, { standing, team }));
  }
  return { included: eachOnce(resources) };
}

/** In order of creation. `counts` are of all members, `matching` but for the filter by status. */
function listMemberships(reader: Reader, standing: Standing, query: Query) {
  const q = (query.get(Q.name) ?? '').toLowerCase();
  const emails = query.get(EMAIL.name)?.toLowerCase().split(',');
  const status = query.get(STATUS.name);
  const everybody = byCreation(reader.list(memberships, 'organization', standing.organization.id)).map(({ row }) => ({
    membership: row,
    user: userOf(reader, row),
  }));
  const matching = everybody.filter(
    ({ user }) =>
      (user.username.toLowerCase().includes(q) || user.email.toLowerCase().includes(q)) &&
      (emails?.includes(user.email.toLowerCase()) ?? true),
  );
  const invited = everybody.filter(({ user }) => statusOf(user) === 'invited').length;
  const all = matching
    .filter(({ user }) => status === undefined || status === '' || statusOf(user) === status)
    .map(({ membership }) => ({ standing, membership }));
  const counts = { total: everybody.length, matching: all.length, active: everybody.length - invited, invited };
  return { all, counts };
}
