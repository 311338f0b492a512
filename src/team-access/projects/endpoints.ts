/** The endpoints of projects. Each organization has one, its default project, which clients can only read [DOC-41]. */
import { Type } from 'typebox';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { listInSlices } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { organizationByName, roleInOrganization } from '../authorization/find-visible.ts';
import { organizationRelationship } from '../documents/organization-to-json.ts';
import { serveLongRead, serveRead, type TeamAccessService } from '../http/request-pipeline.ts';
import { documentAnswer, longDocumentAnswer, type Resource } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import { PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { documentSchema, pageSchema, resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { type Project, projects } from '../tables/project.ts';

const projectSchema = resourceSchema('projects', 'Project', {
  attributes: { name: Type.String(), 'created-at': Type.String() },
  relationships: { organization: toOne('organizations') },
});

export function projectEndpoints(service: TeamAccessService): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/projects',
      summary: 'Lists the projects of an organization',
      conditional: true,
      query: PAGE_PARAMETERS,
      answer: pageSchema(projectSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const role = organizationByName(reader, caller, pathParameter(call, 'name'));
          const all = yield* listInSlices(reader, projects, 'organization', role.organization.id);
          const data = slicePage(all, page).map(({ row }) => projectToJson(role, row));
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/projects/:id',
      summary: 'Reads a project',
      conditional: true,
      answer: documentSchema(projectSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const project = reader.get(projects, pathParameter(call, 'id'))?.row;
          const role = roleInOrganization(reader, caller, project?.organizationId);
          if (project === undefined) throw notFound();
          return documentAnswer(call, { data: projectToJson(role, project) });
        }),
    },
  ];
}

const projectToJson = ({ organization }: CallerRole, { id, name, createTime }: DeepReadonly<Project>): Resource => ({
  id,
  type: 'projects',
  attributes: { name, 'created-at': createTime },
  relationships: { organization: organizationRelationship(organization.name) },
  links: { self: `/api/v2/projects/${id}` },
});
