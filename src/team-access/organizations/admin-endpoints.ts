/** The endpoints of `/admin/organizations`, with which site administrators reach every organization [AUTHZ-90]. */
import { users } from '../../credentials/user.ts';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { filterInSlices, mapInSlices } from '../../state/clock/slices.ts';
import { allInSlices, type Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccessChange } from '../audit.ts';
import { type Caller, roleWithTeams } from '../authorization/caller.ts';
import { makeOwner } from '../authorization/owners.ts';
import { checkSiteAdmin } from '../authorization/site-admin.ts';
import { organizationSchema, organizationToJson } from '../documents/organization-to-json.ts';
import {
  serveDelete,
  serveLongRead,
  serveRead,
  serveWrite,
  type TeamAccessService,
  type WriteContext,
} from '../http/request-pipeline.ts';
import {
  type Document,
  documentAnswer,
  IF_MATCH,
  ifMatch,
  longDocumentAnswer,
  type Resource,
} from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import {
  NAME_FILTER,
  PAGE_PARAMETERS,
  pageDocument,
  readPageOrDefault,
  slicePage,
  sortByCreationAndId,
} from '../jsonapi/pagination.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
import { normalizeName, type Organization, organizations } from '../tables/organization.ts';
import { teamMembers } from '../tables/team.ts';
import { removeOrganization } from './change-organization.ts';

type AnyOrganization = DeepReadonly<Organization>;

const PATH = '/api/v2/admin/organizations';

export function adminOrganizationEndpoints(service: TeamAccessService): Endpoint[] {
  return [
    {
      method: 'GET',
      path: PATH,
      summary: 'Lists all organizations. Only for site administrators',
      conditional: true,
      query: [...PAGE_PARAMETERS, NAME_FILTER],
      answer: pageSchema(organizationSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          checkSiteAdmin(caller);
          const q = (call.query.get(NAME_FILTER.name) ?? '').toLowerCase();
          const all = yield* allInSlices(reader, organizations);
          const matching = yield* filterInSlices(all, ({ row }) => row.name.toLowerCase().includes(q));
          const shown = slicePage(yield* sortByCreationAndId(matching), page);
          const data = yield* mapInSlices(shown, ({ row }) => toJson(reader, row));
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: matching.length }));
        }),
    },
    {
      method: 'GET',
      path: `${PATH}/:name`,
      summary: 'Reads any organization. Only for site administrators',
      conditional: true,
      answer: documentSchema(organizationSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) =>
          documentAnswer(call, toDocument(reader, anyOrganization(reader, caller, pathParameter(call, 'name')))),
        ),
    },
    {
      method: 'DELETE',
      path: `${PATH}/:name`,
      summary: 'Deletes any organization with everything in it. Only for site administrators',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) =>
        serveDelete(service, call, (context) => {
          const organization = anyOrganization(context.tx, context.caller, pathParameter(call, 'name'));
          ifMatch(call)(() => toDocument(context.tx, organization));
          removeOrganization(context, organization);
        }),
    },
    {
      method: 'POST',
      path: `${PATH}/:name/actions/take-ownership`,
      summary: 'Makes the calling site administrator an owner of any organization',
      answer: documentSchema(organizationSchema),
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => undefined,
          change: (context) =>
            documentAnswer(call, toDocument(context.tx, takeOwnership(context, pathParameter(call, 'name')))),
        }),
    },
  ];
}

/** @throws JsonApiError `not-found`, also for callers who are not site administrators */
function anyOrganization(reader: Reader, caller: Caller, name: string): AnyOrganization {
  checkSiteAdmin(caller);
  const organization = reader.find(organizations, 'name', normalizeName(name))?.row;
  if (organization === undefined) throw notFound();
  return organization;
}

/** Makes the caller an owner. The audit log has an entry of the organization and one of the user [AUTHZ-91]. */
function takeOwnership(context: WriteContext, name: string): AnyOrganization {
  const { tx, caller, origin } = context;
  const organization = anyOrganization(tx, caller, name);
  if (caller.kind !== 'user') throw notFound();
  const { userId } = caller;
  const action = 'take-ownership';
  const after = { user: userId, organization: organization.id };
  recordTeamAccessChange(tx, origin, {
    organizationId: organization.id,
    action,
    type: 'organizations',
    subject: organization.id,
    before: null,
    after,
  });
  recordTeamAccessChange(tx, origin, { action, type: 'users', subject: userId, before: null, after });
  makeOwner(context, organization, userId);
  return organization;
}

function toJson(reader: Reader, organization: AnyOrganization): Resource {
  const resource = organizationToJson(roleWithTeams(organization, []));
  const inTeam = reader.list(teamMembers, 'team', organization.ownersTeamId);
  const owners = inTeam.filter(({ row }) => reader.get(users, row.userId)?.row.invitation === undefined);
  return { ...resource, attributes: { ...resource.attributes, 'owners-count': owners.length } };
}

const toDocument = (reader: Reader, organization: AnyOrganization): Document => ({
  data: toJson(reader, organization),
});
