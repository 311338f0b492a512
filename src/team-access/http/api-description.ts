/** The conventions that all endpoints of `/api/v2` share, for the API description. */
import { Type } from 'typebox';
import { meaningOf, type ServiceErrorCode, statusOf } from '../../http/errors.ts';
import type { ApiDescription, DescribedError } from '../../http/openapi/api-description.ts';
import type { Parameter } from '../../http/parameter.ts';
import { JSON_API_CONTENT_TYPE } from '../jsonapi/documents.ts';
import { errorsSchema } from '../jsonapi/error-answer.ts';
import { type ErrorCode, errorCodes, errorDefinition } from '../jsonapi/errors.ts';

const RATE_LIMIT_HEADERS: readonly Parameter[] = [
  { name: 'X-RateLimit-Limit', description: 'Requests per second.', schema: Type.Integer() },
  { name: 'X-RateLimit-Remaining', description: 'Remaining requests.', schema: Type.Integer() },
  { name: 'X-RateLimit-Reset', description: 'Seconds until the count restarts.', schema: Type.Number() },
];

const AUTHENTICATE: Parameter = {
  name: 'WWW-Authenticate',
  description: 'Authentication scheme, with 401.',
  schema: Type.String(),
};

/** Errors that the HTTP server raises before an endpoint runs. */
const EDGE_ERRORS: readonly ServiceErrorCode[] = ['bad-request', 'permission-denied', 'internal', 'unavailable'];
const WRITE_ERRORS: readonly (ServiceErrorCode | ErrorCode)[] = [
  ...(['too-large', 'outcome-unknown', 'overloaded', 'store-full', 'quota-exceeded', 'rows-full'] as const),
  ...(['forbidden', 'precondition-failed', 'invalid-content-type', 'invalid-body'] as const),
];

function describedErrors(): readonly DescribedError[] {
  const writes = WRITE_ERRORS.filter(
    (code): code is ServiceErrorCode => !(errorCodes as readonly string[]).includes(code),
  );
  const edge = [...EDGE_ERRORS, ...writes].map((code) => ({ code, status: statusOf(code), meaning: meaningOf(code) }));
  const own = errorCodes.map((code) => ({
    code,
    status: errorDefinition(code).status,
    meaning: errorDefinition(code).meaning,
  }));
  return [...edge, ...own].map((error) => ({
    ...error,
    appliesTo: (WRITE_ERRORS as readonly string[]).includes(error.code) ? 'writes' : 'all',
  }));
}

export const teamAccessApi = (version: string): ApiDescription => ({
  title: 'Accord team access',
  version,
  prefix: '/api/v2/',
  conventions: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'The token of a user, a team or an organization.' },
    },
    jsonType: JSON_API_CONTENT_TYPE,
    errorSchemas: { [JSON_API_CONTENT_TYPE]: errorsSchema },
    errors: describedErrors(),
    errorHeaders: [...RATE_LIMIT_HEADERS, AUTHENTICATE],
    query: () => [],
    headers: () => [],
    answerHeaders: () => RATE_LIMIT_HEADERS,
  },
});
