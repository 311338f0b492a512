/** `/organizations/:name/projects` and `/projects/:id`: what clients ask of the default project. */
import { Type } from 'typebox';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { organizationNamed, standingAround } from '../authorization/find-visible.ts';
import { toOrganization } from '../documents/organization-to-json.ts';
import { serveRead, type TeamAccess } from '../http/request-pipeline.ts';
import { documentAnswer, type Resource } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { documentOf, pageOf, resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { type Project, projects } from '../tables/project.ts';

const projectSchema = resourceSchema('projects', 'Project', {
  attributes: { name: Type.String(), 'created-at': Type.String() },
  relationships: { organization: toOne('organizations') },
});

export function projectEndpoints(service: TeamAccess): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/projects',
      summary: 'Lists the projects of an organization',
      conditional: true,
      query: PAGE_PARAMETERS,
      answer: pageOf(projectSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          const standing = organizationNamed(reader, caller, pathParameter(call, 'name'));
          const all = reader.list(projects, 'organization', standing.organization.id);
          const data = onPage(all, page).map(({ row }) => showProject(standing, row));
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/projects/:id',
      summary: 'Reads a project',
      conditional: true,
      answer: documentOf(projectSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const project = reader.get(projects, pathParameter(call, 'id'))?.row;
          const standing = standingAround(reader, caller, project?.organizationId);
          if (project === undefined) throw notFound();
          return documentAnswer(call, { data: showProject(standing, project) });
        }),
    },
  ];
}

const showProject = ({ organization }: Standing, { id, name, createTime }: DeepReadonly<Project>): Resource => ({
  id,
  type: 'projects',
  attributes: { name, 'created-at': createTime },
  relationships: { organization: toOrganization(organization.name) },
  links: { self: `/api/v2/projects/${id}` },
});
