/** `/organizations`: who asks and what is sent is read here, everything else is in the operations. */
import { Type } from 'typebox';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Parameter } from '../../http/parameter.ts';
import { organizationNamed } from '../authorization/find-visible.ts';
import { listOrganizations } from '../authorization/organizations-of-caller.ts';
import {
  entitlementSetSchema,
  organizationDocument,
  organizationSchema,
  showEntitlementSet,
  showOrganization,
} from '../documents/organization-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH } from '../jsonapi/documents.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentOf, pageOf } from '../jsonapi/schemas.ts';
import { changeOrganization, deleteOrganization } from './change-organization.ts';
import { createOrganization } from './create-organization.ts';
import { changedOrganizationSchema, newOrganizationSchema } from './read-organization-body.ts';

/** For lists of things with names. */
export const Q: Parameter = { name: 'q', description: 'Only those whose name contains this.', schema: Type.String() };

export function organizationEndpoints(service: TeamAccess): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations',
      summary: 'Lists the organizations that the caller is in',
      conditional: true,
      query: [...PAGE_PARAMETERS, Q],
      answer: pageOf(organizationSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          const all = listOrganizations(reader, caller, call.query.get(Q.name) ?? '');
          const data = onPage(all, page).map(showOrganization);
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/organizations',
      summary: 'Makes an organization, which its maker owns',
      body: newOrganizationSchema,
      answer: documentOf(organizationSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'organizations' }),
          change: (writing, { attributes }) =>
            documentAnswer(call, organizationDocument(createOrganization(writing, attributes)), 201),
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organizations/:name',
      summary: 'Reads an organization',
      conditional: true,
      answer: documentOf(organizationSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) =>
          documentAnswer(call, organizationDocument(organizationNamed(reader, caller, pathParameter(call, 'name')))),
        ),
    },
    {
      method: 'PATCH',
      path: '/api/v2/organizations/:name',
      summary: 'Changes an organization',
      headers: [IF_MATCH],
      body: changedOrganizationSchema,
      answer: documentOf(organizationSchema),
      handle(call) {
        const name = pathParameter(call, 'name');
        return serveWrite(service, call, {
          conditional: true,
          parse: () => readResource(call.body, { type: 'organizations', updates: name }),
          change: (writing, { attributes }) =>
            documentAnswer(call, organizationDocument(changeOrganization(writing, call, name, attributes))),
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
        serveRemoval(service, call, (writing) => deleteOrganization(writing, call, pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/entitlement-set',
      summary: "Tells what the organization's plan has",
      conditional: true,
      answer: documentOf(entitlementSetSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const standing = organizationNamed(reader, caller, pathParameter(call, 'name'));
          return documentAnswer(call, { data: showEntitlementSet(standing) });
        }),
    },
  ];
}
