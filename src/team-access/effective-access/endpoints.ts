/** What somebody may really do on a workspace, and why: `effective-access` and `access-matrix`. */
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { contributionsOn } from '../authorization/caller-role.ts';
import type { Contribution } from '../authorization/effective-access.ts';
import { organizationNamed, organizationWithTeams, workspaceById } from '../authorization/find-visible.ts';
import { serveRead, type TeamAccess } from '../http/request-pipeline.ts';
import { bytesHeld, documentAnswer, writeDocument, writtenAnswer } from '../jsonapi/documents.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { documentOf, pageOf } from '../jsonapi/schemas.ts';
import { reachable } from '../workspaces/list-workspaces.ts';
import { matrixRowSchema, showMatrix } from './access-matrix-to-json.ts';
import { effectiveAccessSchema, showEffectiveAccess } from './effective-access-to-json.ts';
import {
  findSubject,
  findUser,
  ORGANIZATION_FILTER,
  readOrganizationQuery,
  readWanted,
  TEAM_FILTER,
  USER_FILTER,
} from './find-subject.ts';

export function effectiveAccessEndpoints(service: TeamAccess): Endpoint[] {
  const { terraform } = service;
  const schema = effectiveAccessSchema(terraform);
  return [
    {
      method: 'GET',
      path: '/api/v2/workspaces/:id/effective-access',
      summary: "Explains a user's or a team's access to a workspace; the caller's own unless asked otherwise",
      conditional: true,
      query: [USER_FILTER, TEAM_FILTER],
      answer: documentOf(schema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const wanted = readWanted(call.query);
          const found = workspaceById(reader, caller, pathParameter(call, 'id'));
          const subject = findSubject(reader, caller, found, wanted);
          const { id } = found.workspace;
          const contributions = contributionsOn(reader, subject.standing, id);
          // In one picture of the state the same sources give the same.
          const key = ['effective-access', id, subject.type, subject.id, ...contributions.map(keyOfSource)].join('\0');
          const write = () => writeDocument({ data: showEffectiveAccess(id, subject, contributions, terraform) });
          return writtenAnswer(call, reader.memo(key, write, bytesHeld));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/users/:id/effective-access',
      summary: 'Lists every workspace of an organization that a user has access to, and explains it',
      conditional: true,
      query: [ORGANIZATION_FILTER, ...PAGE_PARAMETERS],
      answer: pageOf(schema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const { organization, page } = readOrganizationQuery(call.query);
          const asker = organizationNamed(reader, caller, organization);
          const subject = findUser(reader, caller, asker, pathParameter(call, 'id'));
          const all = reachable(reader, subject.standing);
          const data = onPage(all, page).map(({ row }) =>
            showEffectiveAccess(row.id, subject, contributionsOn(reader, subject.standing, row.id), terraform),
          );
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/organizations/:name/access-matrix',
      summary: 'Lists workspaces with the access of every team that the caller may know of',
      conditional: true,
      query: PAGE_PARAMETERS,
      answer: pageOf(matrixRowSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          const standing = organizationWithTeams(reader, caller, pathParameter(call, 'name'));
          const all = reachable(reader, standing);
          const data = showMatrix(reader, standing, onPage(all, page));
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
  ];
}

const keyOfSource = ({ source }: Contribution): string => {
  if (source.kind === 'team-workspace') return source.id;
  return source.kind === 'owner' ? `owner ${source.teamId}` : `${source.permission} ${source.teamId}`;
};
