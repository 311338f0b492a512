/** `/workspaces/:id/team-access`: all rows of a workspace at once. */
import { Type } from 'typebox';
import { pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { rowsDocument } from '../../documents/team-workspace-to-json.ts';
import { DRY_RUN, readDryRun } from '../../http/dry-run.ts';
import { serveWrite, type TeamAccess } from '../../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH, ifMatch, tagOf } from '../../jsonapi/documents.ts';
import { setRowSchema } from '../../team-workspaces/read-access.ts';
import { setAnswerSchema, setDocument } from './difference-to-json.ts';
import { putTeamAccess } from './put-team-access.ts';
import { readSet } from './read-set.ts';

const IF_MATCH_OF_SET: Parameter = {
  ...IF_MATCH,
  description: 'Only if the rows have this `ETag`, as a dry run or their list without pages tells it; else 412.',
};

/** The one endpoint. */
export function completeSetEndpoints(service: TeamAccess): Endpoint[] {
  const { terraform } = service;
  return [
    {
      method: 'PUT',
      path: '/api/v2/workspaces/:id/team-access',
      summary: 'Makes the rows of a workspace those that are given',
      bulk: true,
      query: [DRY_RUN],
      headers: [IF_MATCH_OF_SET],
      body: Type.Object({ data: Type.Array(setRowSchema(terraform)) }),
      answer: setAnswerSchema(terraform),
      answerHeaders: [
        { name: 'ETag', description: 'Of the rows as they now stand: for If-Match.', schema: Type.String() },
      ],
      handle(call) {
        const workspaceId = pathParameter(call, 'id');
        return serveWrite(service, call, {
          conditional: true,
          parse: () => ({ dryRun: readDryRun(call.query), rows: readSet(call.body, workspaceId) }),
          isDryRun: ({ dryRun }) => dryRun,
          change(writing, { dryRun, rows }) {
            const set = putTeamAccess(writing, { workspaceId, precondition: ifMatch(call), terraform }, rows);
            const tag = tagOf(rowsDocument(dryRun ? set.before : set.after, terraform));
            const answer = documentAnswer(call, setDocument(writing.tx, set, { dryRun, terraform }));
            return { ...answer, headers: ['ETag', tag] };
          },
        });
      },
    },
  ];
}
