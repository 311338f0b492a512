/** The endpoint of complete sets: all rows of a workspace in one request. */
import { Type } from 'typebox';
import { pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { teamWorkspacesDocument } from '../../documents/team-workspace-to-json.ts';
import { DRY_RUN, readDryRun, serveWrite, type TeamAccessService } from '../../http/request-pipeline.ts';
import { documentAnswer, etagOf, IF_MATCH, ifMatch } from '../../jsonapi/documents.ts';
import { completeSetRowSchema } from '../../team-workspaces/read-access.ts';
import { completeSetDocument, completeSetSchema } from './complete-set-to-json.ts';
import { putCompleteSet } from './put-complete-set.ts';
import { readCompleteSet } from './read-complete-set.ts';

const SET_IF_MATCH: Parameter = {
  ...IF_MATCH,
  description: 'Only if the rows have this `ETag`, which a dry run and the list without pages return. Otherwise 412.',
};

export function completeSetEndpoints(service: TeamAccessService): Endpoint[] {
  const { terraform } = service;
  return [
    {
      method: 'PUT',
      path: '/api/v2/workspaces/:id/team-access',
      summary: 'Replaces the team access of a workspace',
      bulk: true,
      query: [DRY_RUN],
      headers: [SET_IF_MATCH],
      body: Type.Object({ data: Type.Array(completeSetRowSchema(terraform)) }),
      answer: completeSetSchema(terraform),
      answerHeaders: [
        { name: 'ETag', description: 'The tag of the current rows, for `If-Match`.', schema: Type.String() },
      ],
      handle(call) {
        const workspaceId = pathParameter(call, 'id');
        return serveWrite(service, call, {
          conditional: true,
          parse: () => ({ dryRun: readDryRun(call.query), rows: readCompleteSet(call.body, workspaceId) }),
          isDryRun: ({ dryRun }) => dryRun,
          change(context, { dryRun, rows }) {
            const set = putCompleteSet(context, { workspaceId, precondition: ifMatch(call), terraform }, rows);
            const etag = etagOf(teamWorkspacesDocument(dryRun ? set.before : set.after, terraform));
            const answer = documentAnswer(call, completeSetDocument(context.tx, set, { dryRun, terraform }));
            return { ...answer, headers: ['ETag', etag] };
          },
        });
      },
    },
  ];
}
