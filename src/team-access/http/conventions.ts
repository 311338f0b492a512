/** What is said of `/api/v2` besides its endpoints: what they all have in common. */
import { Type } from 'typebox';
import { meaningOf, type ServiceErrorCode, statusOf } from '../../http/errors.ts';
import type { ApiDescription, DescribedError } from '../../http/openapi/api-description.ts';
import type { Parameter } from '../../http/parameter.ts';
import { errorsSchema } from '../jsonapi/error-answer.ts';
import { type FaultCode, faultCodes, faultOf } from '../jsonapi/errors.ts';
import { JSON_API } from '../jsonapi/media-type.ts';

const RATE_HEADERS: readonly Parameter[] = [
  { name: 'X-RateLimit-Limit', description: 'Requests a second.', schema: Type.Integer() },
  { name: 'X-RateLimit-Remaining', description: 'How many are left.', schema: Type.Integer() },
  { name: 'X-RateLimit-Reset', description: 'Seconds until they are counted anew.', schema: Type.Number() },
];

const AUTHENTICATE: Parameter = {
  name: 'WWW-Authenticate',
  description: 'With 401: how to say who you are.',
  schema: Type.String(),
};

/** What the edge has to say. */
const OF_EDGE: readonly ServiceErrorCode[] = ['bad-request', 'permission-denied', 'internal', 'unavailable'];
const OF_WRITES: readonly (ServiceErrorCode | FaultCode)[] = [
  ...(['too-large', 'outcome-unknown', 'overloaded', 'store-full', 'rows-full'] as const),
  ...(['forbidden', 'precondition-failed', 'invalid-content-type', 'invalid-body'] as const),
];

function describedErrors(): readonly DescribedError[] {
  const writes = OF_WRITES.filter(
    (code): code is ServiceErrorCode => !(faultCodes as readonly string[]).includes(code),
  );
  const edge = [...OF_EDGE, ...writes].map((code) => ({ code, status: statusOf(code), meaning: meaningOf(code) }));
  const own = faultCodes.map((code) => ({ code, status: faultOf(code).status, meaning: faultOf(code).meaning }));
  return [...edge, ...own].map((error) => ({
    ...error,
    toldTo: (OF_WRITES as readonly string[]).includes(error.code) ? 'writes' : 'all',
  }));
}

/** The description of `/api/v2` by a server of the given version. */
export const teamAccessApi = (version: string): ApiDescription => ({
  title: 'Accord team access',
  version,
  prefix: '/api/v2/',
  conventions: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'The token of a user, a team or an organization.' },
    },
    jsonType: JSON_API,
    errorForms: { [JSON_API]: errorsSchema },
    errors: describedErrors(),
    errorHeaders: [...RATE_HEADERS, AUTHENTICATE],
    query: () => [],
    headers: () => [],
    answerHeaders: () => RATE_HEADERS,
  },
});
