/** JSON:API error documents, also for errors that the HTTP server raises before an endpoint runs. */
import { type Static, Type } from 'typebox';
import type { Answer, ErrorRenderer } from '../../http/call.ts';
import type { ServiceErrorCode } from '../../http/errors.ts';
import { ERRORS_MAX } from '../limits.ts';
import { JSON_API_CONTENT_TYPE } from './documents.ts';
import { type ErrorObject, errorDefinition, type JsonApiError } from './errors.ts';

export const errorsSchema = Type.Object(
  {
    errors: Type.Array(
      Type.Object(
        {
          status: Type.String(),
          title: Type.String(),
          detail: Type.Optional(Type.String({ description: 'Explanation for people.' })),
          source: Type.Optional(
            Type.Object({
              pointer: Type.Optional(Type.String({ description: 'JSON pointer into the request body.' })),
              parameter: Type.Optional(Type.String({ description: 'Name of a query parameter.' })),
            }),
          ),
          meta: Type.Optional(Type.Record(Type.String(), Type.String())),
        },
        { title: 'Error' },
      ),
    ),
  },
  { title: 'Errors', description: 'All errors that one step of the checks found.' },
);
type ErrorDocument = Static<typeof errorsSchema>;
type SerializedError = ErrorDocument['errors'][number];

export function errorAnswer(error: JsonApiError): Answer {
  const errors = error.errors.slice(0, ERRORS_MAX).map(serializeError);
  return errorDocumentAnswer(Number(errors[0]?.status), errors, error.headers);
}

export const renderServerError: ErrorRenderer = (
  call,
  { code, status, message, headers, retryAfterSeconds, parameter },
) => {
  const title = TITLES[code];
  const source = parameter === undefined ? {} : { source: { parameter } };
  const error: SerializedError = { status: String(status), title, ...source };
  // A 404 has no detail, because it would distinguish missing resources from those that the caller may not know of. For
  // the same reason a 401 tells nothing about the token.
  const detail = code === 'internal' ? `request ${call.id}` : message;
  const retry = retryAfterSeconds === undefined ? [] : ['Retry-After', String(retryAfterSeconds)];
  return errorDocumentAnswer(status, [WITHOUT_DETAIL.has(code) ? error : { ...error, detail }], [...headers, ...retry]);
};

const WITHOUT_DETAIL: ReadonlySet<ServiceErrorCode> = new Set(['not-found', 'unauthorized']);

const TITLES: Readonly<Record<ServiceErrorCode, string>> = {
  'bad-request': 'bad request',
  unauthorized: 'unauthorized',
  'permission-denied': 'forbidden',
  'not-found': 'not found',
  'method-not-allowed': 'method not allowed',
  'request-timeout': 'request timeout',
  conflict: 'conflict',
  'precondition-failed': 'precondition failed',
  'too-large': 'payload too large',
  'unsupported-media-type': 'invalid content type',
  'headers-too-large': 'request header fields too large',
  'rate-limited': 'too many requests',
  internal: 'internal error',
  'not-implemented': 'not implemented',
  unavailable: 'service unavailable',
  'outcome-unknown': 'outcome unknown',
  overloaded: 'service unavailable',
  'store-full': 'store full',
  'quota-exceeded': 'quota exceeded',
  'rows-full': 'insufficient storage',
};

function serializeError({ code, detail, pointer, parameter, meta }: ErrorObject): SerializedError {
  const { status, title } = errorDefinition(code);
  const source = { ...(pointer !== undefined && { pointer }), ...(parameter !== undefined && { parameter }) };
  return {
    status: String(status),
    title,
    ...(detail !== undefined && { detail }),
    ...((pointer ?? parameter) !== undefined && { source }),
    ...(meta !== undefined && { meta }),
  };
}

function errorDocumentAnswer(status: number, errors: SerializedError[], headers: readonly string[]): Answer {
  const document: ErrorDocument = { errors };
  return {
    status,
    contentType: JSON_API_CONTENT_TYPE,
    body: JSON.stringify(document),
    headers: ['X-Content-Type-Options', 'nosniff', ...headers],
  };
}
