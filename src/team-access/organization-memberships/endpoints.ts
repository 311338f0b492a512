/** The endpoints of organization memberships. */
import { Type } from 'typebox';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Parameter } from '../../http/parameter.ts';
import { mapInSlices, oneStep, type Steps } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { comparisonBudget } from '../authorization/compare-team.ts';
import { organizationByName } from '../authorization/find-visible.ts';
import {
  membershipSchema,
  membershipToJson,
  userOfMembership,
  visibleTeamsOfMember,
} from '../documents/organization-membership-to-json.ts';
import { teamToJson } from '../documents/team-to-json.ts';
import { userToJson } from '../documents/user-to-json.ts';
import {
  readFlag,
  serveDelete,
  serveLargeWrite,
  serveLongRead,
  serveWrite,
  type TeamAccessService,
} from '../http/request-pipeline.ts';
import {
  type Document,
  documentAnswer,
  IF_MATCH,
  ifMatch,
  longDocumentAnswer,
  type Resource,
} from '../jsonapi/documents.ts';
import { boundedLinkage, collectIncluded, includeParameter, readInclude } from '../jsonapi/include.ts';
import { NAME_FILTER, PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { bodySchema, documentSchema, pageSchema, toMany } from '../jsonapi/schemas.ts';
import { TRANSFER_TO } from '../users/change-user.ts';
import { acceptInvitation } from './accept-invitation.ts';
import {
  createMembership,
  deleteMembership,
  type FoundMembership,
  membershipById,
  NEW_MEMBERSHIP,
} from './change-membership.ts';
import { EMAIL_FILTER, listMemberships, STATUS_FILTER } from './list-memberships.ts';
import { ownMemberships, ownMembershipToJson } from './own-memberships.ts';

const INCLUDES = ['user', 'teams'] as const;
const INCLUDE = includeParameter(INCLUDES);

const LEAVE: Parameter = {
  name: 'leave-to-site-administrators',
  description: 'Without a value or with `true`, the last owner leaves the organization without an owner.',
  schema: Type.Literal('true'),
  flag: true,
};

const newMembershipSchema = bodySchema('organization-memberships', {
  attributes: { email: Type.String() },
  relationships: { teams: Type.Optional(toMany('teams')) },
  required: ['email'],
});
const statusCounts = Type.Record(Type.Enum(['total', 'matching', 'active', 'invited']), Type.Integer());

export function membershipEndpoints(service: TeamAccessService): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/organization-memberships',
      summary: 'Lists the members of an organization',
      conditional: true,
      query: [...PAGE_PARAMETERS, NAME_FILTER, STATUS_FILTER, EMAIL_FILTER, INCLUDE],
      answer: pageSchema(membershipSchema, { 'status-counts': statusCounts }),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const include = readInclude(call.query, INCLUDES);
          const role = organizationByName(reader, caller, pathParameter(call, 'name'));
          const { all, counts } = yield* listMemberships(reader, role, call.query);
          const found = slicePage(all, page).map((membership) => ({ role, membership }));
          const linkage = boundedLinkage();
          const data = yield* mapInSlices(found, ({ membership }) =>
            membershipToJson(reader, role, membership, linkage),
          );
          const included = yield* includedResources(reader, found, include);
          const document = pageDocument(call, page, { data, totalCount: all.length, ...included });
          return yield* longDocumentAnswer(call, { ...document, meta: { 'status-counts': counts, ...document.meta } });
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organizations/:name/organization-memberships',
      summary: 'Adds a member to an organization',
      body: newMembershipSchema,
      answer: documentSchema(membershipSchema),
      status: 201,
      handle: (call) =>
        serveLargeWrite(service, call, {
          parse: () => oneStep(() => readResource(call.body, NEW_MEMBERSHIP)),
          *change(context, body) {
            const found = yield* createMembership(context, pathParameter(call, 'name'), body);
            return documentAnswer(call, yield* membershipDocument(context.tx, found, new Set(['user'])), 201);
          },
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organization-memberships',
      summary: "Lists the caller's own memberships and invitations",
      conditional: true,
      query: [...PAGE_PARAMETERS, STATUS_FILTER],
      answer: pageSchema(membershipSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const all = ownMemberships(reader, caller, call.query);
          const linkage = boundedLinkage();
          const data = yield* mapInSlices(slicePage(all, page), (own) =>
            ownMembershipToJson(reader, caller, own, linkage),
          );
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organization-memberships/:id/actions/accept',
      summary: 'Accepts an invitation of the caller',
      answer: documentSchema(membershipSchema),
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => undefined,
          change(context) {
            const { role, membership } = acceptInvitation(context, pathParameter(call, 'id'));
            return documentAnswer(call, { data: membershipToJson(context.tx, role, membership) });
          },
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organization-memberships/:id',
      summary: 'Reads a membership',
      conditional: true,
      query: [INCLUDE],
      answer: documentSchema(membershipSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const include = readInclude(call.query, INCLUDES);
          const found = membershipById(reader, caller, pathParameter(call, 'id'));
          return yield* longDocumentAnswer(call, yield* membershipDocument(reader, found, include));
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/organization-memberships/:id',
      summary: 'Removes a member from an organization and its teams',
      query: [TRANSFER_TO, LEAVE],
      headers: [IF_MATCH],
      status: 204,
      handle: (call) =>
        serveDelete(service, call, (context) =>
          deleteMembership(context, {
            id: pathParameter(call, 'id'),
            precondition: ifMatch(call),
            transferTo: call.query.get(TRANSFER_TO.name),
            leaveToSiteAdministrators: readFlag(call.query, LEAVE),
          }),
        ),
    },
  ];
}

type Include = ReadonlySet<(typeof INCLUDES)[number]>;

function* membershipDocument(reader: Reader, found: FoundMembership, include: Include): Steps<Document> {
  const data = membershipToJson(reader, found.role, found.membership);
  return { data, ...(yield* includedResources(reader, [found], include)) };
}

function* includedResources(
  reader: Reader,
  found: readonly FoundMembership[],
  include: Include,
): Steps<{ readonly included?: readonly Resource[] }> {
  if (include.size === 0) return {};
  const included = collectIncluded(found.length);
  const linkage = boundedLinkage();
  const budget = comparisonBudget();
  for (const { role, membership } of found) {
    if (include.has('user'))
      included.add('users', membership.userId, () => userToJson(userOfMembership(reader, membership)));
    if (!include.has('teams')) continue;
    for (const team of visibleTeamsOfMember(reader, role, membership)) {
      included.add('teams', team.id, () => teamToJson(reader, { role, team }, linkage, budget));
      yield;
    }
  }
  return { included: included.all() };
}
