/** `/operations`: many changes in one commit. */
import { Type } from 'typebox';
import type { Endpoint } from '../../../http/endpoint.ts';
import { DRY_RUN, readDryRun } from '../../http/dry-run.ts';
import { serveWrite, type TeamAccess } from '../../http/request-pipeline.ts';
import { negotiateOperations, OPERATIONS_TYPE } from './media-type.ts';
import { OPERATIONS, readOperations } from './read-operations.ts';
import { RESOURCE_TYPES } from './resource-kinds.ts';
import { runOperations } from './run-operations.ts';

const optionalText = Type.Optional(Type.String());
const operation = Type.Object({
  op: Type.Enum(['add', 'update', 'remove']),
  ref: Type.Optional(
    Type.Object({
      type: Type.Enum([...RESOURCE_TYPES]),
      id: optionalText,
      lid: Type.Optional(Type.String({ description: 'Of what an earlier operation adds, instead of the id.' })),
      relationship: Type.Optional(Type.Enum(['users', 'organization-memberships'])),
    }),
  ),
  href: Type.Optional(Type.String({ description: 'The path of the endpoint that does it, instead of `ref`.' })),
  data: Type.Optional(Type.Unknown({ description: 'As in the body of the endpoint that does it alone.' })),
});
const resource = Type.Object(
  { id: Type.String(), type: Type.Enum([...RESOURCE_TYPES]) },
  { additionalProperties: true },
);
const results = Type.Object({
  'atomic:results': Type.Array(
    Type.Object({
      data: Type.Optional(resource),
      meta: Type.Optional(Type.Object({ before: resource })),
    }),
  ),
  meta: Type.Object({ 'dry-run': Type.Boolean() }),
});

/** The one endpoint. */
export function operationEndpoints(service: TeamAccess): Endpoint[] {
  const { clock, terraform } = service;
  return [
    {
      method: 'POST',
      path: '/api/v2/operations',
      summary: 'Changes teams, their members and rows, and memberships: all that is asked, or nothing',
      bulk: true,
      query: [DRY_RUN],
      body: Type.Object({ [OPERATIONS]: Type.Array(operation) }),
      bodyType: OPERATIONS_TYPE,
      answer: results,
      answerType: OPERATIONS_TYPE,
      handle: (call) =>
        serveWrite(service, call, {
          negotiate: negotiateOperations,
          parse: () => ({ dryRun: readDryRun(call.query), operations: readOperations(call.body) }),
          isDryRun: ({ dryRun }) => dryRun,
          change(writing, { dryRun, operations }) {
            const done = runOperations(writing, operations, { clock, dryRun, terraform });
            const document = { 'atomic:results': done, meta: { 'dry-run': dryRun } };
            return { status: 200, contentType: OPERATIONS_TYPE, body: JSON.stringify(document) };
          },
        }),
    },
  ];
}
