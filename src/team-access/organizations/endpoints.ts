/** The endpoints of `/organizations`. */
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { listOrganizations, organizationByName } from '../authorization/find-visible.ts';
import {
  entitlementSetSchema,
  entitlementSetToJson,
  organizationDocument,
  organizationSchema,
  organizationToJson,
} from '../documents/organization-to-json.ts';
import { serveDelete, serveLongRead, serveRead, serveWrite, type TeamAccessService } from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH, longDocumentAnswer } from '../jsonapi/documents.ts';
import { NAME_FILTER, PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
import {
  changedOrganizationSchema,
  changeOrganization,
  createOrganization,
  deleteOrganization,
  newOrganizationSchema,
} from './change-organization.ts';

export function organizationEndpoints(service: TeamAccessService): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations',
      summary: 'Lists the organizations of the caller',
      conditional: true,
      query: [...PAGE_PARAMETERS, NAME_FILTER],
      answer: pageSchema(organizationSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const all = yield* listOrganizations(reader, caller, call.query.get(NAME_FILTER.name) ?? '');
          const data = slicePage(all, page).map(organizationToJson);
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organizations',
      summary: 'Creates an organization owned by the caller',
      body: newOrganizationSchema,
      answer: documentSchema(organizationSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'organizations' }),
          change: (context, { attributes }) =>
            documentAnswer(
              call,
              organizationDocument(createOrganization(context, attributes, service.organizationQuota)),
              201,
            ),
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organizations/:name',
      summary: 'Reads an organization',
      conditional: true,
      answer: documentSchema(organizationSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) =>
          documentAnswer(call, organizationDocument(organizationByName(reader, caller, pathParameter(call, 'name')))),
        ),
    },
    {
      method: 'PATCH',
      path: '/api/v2/organizations/:name',
      summary: 'Updates an organization',
      headers: [IF_MATCH],
      body: changedOrganizationSchema,
      answer: documentSchema(organizationSchema),
      handle(call) {
        const name = pathParameter(call, 'name');
        return serveWrite(service, call, {
          conditional: true,
          parse: () => readResource(call.body, { type: 'organizations', updates: name }),
          change: (context, { attributes }) =>
            documentAnswer(call, organizationDocument(changeOrganization(context, call, name, attributes))),
        });
      },
    },
    {
      method: 'DELETE',
      path: '/api/v2/organizations/:name',
      summary: 'Deletes an organization with everything in it',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) =>
        serveDelete(service, call, (context) => deleteOrganization(context, call, pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/entitlement-set',
      summary: "Returns the features of the organization's plan",
      conditional: true,
      answer: documentSchema(entitlementSetSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const role = organizationByName(reader, caller, pathParameter(call, 'name'));
          return documentAnswer(call, { data: entitlementSetToJson(role) });
        }),
    },
  ];
}
