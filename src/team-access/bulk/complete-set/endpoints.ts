/** The endpoint of complete sets: all rows of a workspace in one request. */
import { Type } from 'typebox';
import { pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import { stringifyInSlices } from '../../../http/json/sliced-json.ts';
import type { Parameter } from '../../../http/parameter.ts';
import type { Steps } from '../../../state/clock/slices.ts';
import { teamWorkspacesDocument } from '../../documents/team-workspace-to-json.ts';
import { DRY_RUN, readDryRun, serveLargeWrite, type TeamAccessService } from '../../http/request-pipeline.ts';
import { checkIfMatch, IF_MATCH, JSON_API_CONTENT_TYPE, serializeInSlices } from '../../jsonapi/documents.ts';
import type { FoundRow } from '../../team-workspaces/find-rows.ts';
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
        function* etagOf(rows: readonly FoundRow[]): Steps<string> {
          const { etag } = yield* serializeInSlices(yield* teamWorkspacesDocument(rows, terraform));
          return etag;
        }
        function* precondition(before: readonly FoundRow[]): Steps<void> {
          if (call.request.headers['if-match'] !== undefined) checkIfMatch(call, yield* etagOf(before));
        }
        return serveLargeWrite(service, call, {
          conditional: true,
          *parse() {
            return { dryRun: readDryRun(call.query), rows: yield* readCompleteSet(call.body, workspaceId) };
          },
          isDryRun: ({ dryRun }) => dryRun,
          *change(context, { dryRun, rows }) {
            const set = yield* putCompleteSet(context, { workspaceId, precondition, terraform }, rows);
            const document = yield* completeSetDocument(context.tx, set, { dryRun, terraform });
            const body = yield* stringifyInSlices(document);
            const headers = ['ETag', yield* etagOf(dryRun ? set.before : set.after)];
            return { status: 200, contentType: JSON_API_CONTENT_TYPE, body, headers };
          },
        });
      },
    },
  ];
}
