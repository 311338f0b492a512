/** The endpoint of operations: many changes in one commit [TEAM-60]. */
import { Type } from 'typebox';
import { acceptsMediaType } from '../../../http/accept.ts';
import type { Call } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import { stringifyInSlices } from '../../../http/json/sliced-json.ts';
import { DRY_RUN, readDryRun, serveLargeWrite, type TeamAccessService } from '../../http/request-pipeline.ts';
import { checkContentType } from '../../jsonapi/documents.ts';
import { JsonApiError } from '../../jsonapi/errors.ts';
import { extensionsOf, JSON_API_MEDIA_TYPE } from '../../jsonapi/media-type.ts';
import { OPERATIONS, readOperations } from './read-operations.ts';
import { RESOURCE_TYPES } from './resource-kinds.ts';
import { runOperations } from './run-operations.ts';

const EXTENSION = 'https://jsonapi.org/ext/atomic';

export const OPERATIONS_TYPE = `${JSON_API_MEDIA_TYPE};ext="${EXTENSION}"`;

const optionalText = Type.Optional(Type.String());
const operation = Type.Object({
  op: Type.Enum(['add', 'update', 'remove']),
  ref: Type.Optional(
    Type.Object({
      type: Type.Enum([...RESOURCE_TYPES]),
      id: optionalText,
      lid: Type.Optional(
        Type.String({ description: 'The local ID of a resource that an earlier operation adds, instead of `id`.' }),
      ),
      relationship: Type.Optional(Type.Enum(['users', 'organization-memberships'])),
    }),
  ),
  href: Type.Optional(
    Type.String({ description: 'The path of the endpoint for the single change, instead of `ref`.' }),
  ),
  data: Type.Optional(Type.Unknown({ description: 'As in the body of the endpoint for the single change.' })),
});
const resource = Type.Object(
  { id: Type.String(), type: Type.Enum([...RESOURCE_TYPES]) },
  { additionalProperties: true },
);
const answerSchema = Type.Object({
  'atomic:results': Type.Array(
    Type.Object({
      data: Type.Optional(resource),
      meta: Type.Optional(Type.Object({ before: resource })),
    }),
  ),
  meta: Type.Object({ 'dry-run': Type.Boolean() }),
});

export function operationEndpoints(service: TeamAccessService): Endpoint[] {
  const { clock, terraform } = service;
  return [
    {
      method: 'POST',
      path: '/api/v2/operations',
      summary: 'Changes teams, team members, team access, and memberships, all together or not at all',
      bulk: true,
      query: [DRY_RUN],
      body: Type.Object({ [OPERATIONS]: Type.Array(operation) }),
      bodyType: OPERATIONS_TYPE,
      answer: answerSchema,
      answerType: OPERATIONS_TYPE,
      handle: (call) =>
        serveLargeWrite(service, call, {
          negotiate: negotiateOperations,
          *parse() {
            return { dryRun: readDryRun(call.query), operations: yield* readOperations(call.body) };
          },
          isDryRun: ({ dryRun }) => dryRun,
          *change(context, { dryRun, operations }) {
            const results = yield* runOperations(context, operations, { clock, dryRun, terraform });
            const document = { 'atomic:results': results, meta: { 'dry-run': dryRun } };
            return { status: 200, contentType: OPERATIONS_TYPE, body: yield* stringifyInSlices(document) };
          },
        }),
    },
  ];
}

/** Checks `Content-Type` and `Accept`. @throws JsonApiError `invalid-content-type`, `not-acceptable` */
function negotiateOperations(call: Call): void {
  checkContentType(call);
  const { accept } = call.request.headers;
  if (accept === undefined || accept.trim() === '') return;
  // JSON:API 1.1, server responsibilities: ranges with unsupported extensions are ignored.
  const known = accept.split(',').filter((range) => extensionsOf(range).every((uri) => uri === EXTENSION));
  if (known.length > 0 && acceptsMediaType(known.join(','), JSON_API_MEDIA_TYPE)) return;
  throw new JsonApiError([{ code: 'not-acceptable', detail: `the answer is ${OPERATIONS_TYPE}` }]);
}
