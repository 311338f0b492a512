/** The endpoints of effective access and of the access matrix. */
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { mapInSlices } from '../../state/clock/slices.ts';
import { accessContributions } from '../authorization/caller.ts';
import type { Contribution } from '../authorization/effective-access.ts';
import { organizationByName, organizationWithTeams, workspaceById } from '../authorization/find-visible.ts';
import { serveLongRead, type TeamAccessService } from '../http/request-pipeline.ts';
import { longDocumentAnswer, type Resource, serializedAnswer, serializeInSlices } from '../jsonapi/documents.ts';
import { PAGE_PARAMETERS, pageDocument, readPageOrDefault, slicePage } from '../jsonapi/pagination.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
import { accessibleWorkspaces } from '../workspaces/list-workspaces.ts';
import { accessMatrixToJson, matrixRowSchema } from './access-matrix-to-json.ts';
import { effectiveAccessSchema, effectiveAccessToJson } from './effective-access-to-json.ts';
import {
  findSubject,
  findUserSubject,
  ORGANIZATION_FILTER,
  readOrganizationQuery,
  readSubjectQuery,
  TEAM_FILTER,
  USER_FILTER,
} from './find-subject.ts';

export function effectiveAccessEndpoints(service: TeamAccessService): Endpoint[] {
  const { terraform } = service;
  const schema = effectiveAccessSchema(terraform);
  return [
    {
      method: 'GET',
      path: '/api/v2/workspaces/:id/effective-access',
      summary: 'Explains the access of the caller, or of another user or team, to a workspace',
      conditional: true,
      query: [USER_FILTER, TEAM_FILTER],
      answer: documentSchema(schema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const query = readSubjectQuery(call.query);
          const found = workspaceById(reader, caller, pathParameter(call, 'id'));
          const subject = findSubject(reader, caller, found, query);
          const { id } = found.workspace;
          const contributions = accessContributions(reader, subject.role, id);
          // Within one snapshot, the same sources result in the same document.
          const key = ['effective-access', id, subject.type, subject.id, ...contributions.map(sourceKey)].join('\0');
          const serialize = function* () {
            return yield* serializeInSlices({
              data: yield* effectiveAccessToJson(id, subject, contributions, terraform),
            });
          };
          return serializedAnswer(call, yield* reader.memoizeInSlices(key, serialize, ({ text }) => text.length));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/users/:id/effective-access',
      summary: 'Lists and explains the access of a user to the workspaces of an organization',
      conditional: true,
      query: [ORGANIZATION_FILTER, ...PAGE_PARAMETERS],
      answer: pageSchema(schema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const { organization, page } = readOrganizationQuery(call.query);
          const role = organizationByName(reader, caller, organization);
          const subject = findUserSubject(reader, caller, role, pathParameter(call, 'id'));
          const all = yield* accessibleWorkspaces(reader, subject.role);
          const contributions = yield* mapInSlices(
            slicePage(all, page),
            ({ row }) => [row.id, accessContributions(reader, subject.role, row.id)] as const,
          );
          const data: Resource[] = [];
          for (const [id, some] of contributions) data.push(yield* effectiveAccessToJson(id, subject, some, terraform));
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/access-matrix',
      summary: 'Lists workspaces with the access of their teams',
      conditional: true,
      query: PAGE_PARAMETERS,
      answer: pageSchema(matrixRowSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const role = organizationWithTeams(reader, caller, pathParameter(call, 'name'));
          const all = yield* accessibleWorkspaces(reader, role);
          const data = yield* accessMatrixToJson(reader, role, slicePage(all, page));
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
  ];
}

/** Identifies a contribution within a snapshot. */
const sourceKey = ({ source }: Contribution): string => {
  if (source.kind === 'team-workspace') return source.id;
  return source.kind === 'owner' ? `owner ${source.teamId}` : `${source.permission} ${source.teamId}`;
};
