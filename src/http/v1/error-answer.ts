/** How `/v1` tells errors: the bare text, or a problem document (RFC 9457) for a client that accepts one. */
import { STATUS_CODES } from 'node:http';
import { type Static, Type } from 'typebox';
import { acceptsExactly } from '../accept.ts';
import type { Answer } from '../answer.ts';
import type { Call } from '../call.ts';
import { type ServiceError, serviceErrorCodes } from '../errors.ts';

const PROBLEM = 'application/problem+json';
const TEXT = 'text/plain; charset=utf-8';

const problemSchema = Type.Object(
  {
    type: Type.Literal('about:blank'),
    title: Type.String({ description: 'The words of the status.' }),
    status: Type.Integer(),
    code: Type.Enum([...serviceErrorCodes], { description: 'What programs decide by; never changes its meaning.' }),
    detail: Type.String({ description: 'What people read.' }),
    requestId: Type.String({ description: 'Finds the request in the log.' }),
  },
  { title: 'Problem', description: 'RFC 9457' },
);

/** An error in every form that a client can ask for: its media type and its schema. */
export const errorForms = { [TEXT]: Type.String(), [PROBLEM]: problemSchema };

/** The answer for an error. One of our own says no more than the request's id. */
export function errorAnswer(call: Call, error: ServiceError): Answer {
  const message = error.code === 'internal' ? `Internal error (request ${call.id})` : error.message;
  const headers = [...error.headers, 'X-Content-Type-Options', 'nosniff'];
  if (error.retryAfterSeconds !== undefined) headers.push('Retry-After', String(error.retryAfterSeconds));
  const { status } = error;
  if (acceptsExactly(call.request.headers.accept, PROBLEM)) {
    const problem: Static<typeof problemSchema> = {
      type: 'about:blank',
      title: STATUS_CODES[status] ?? '',
      status,
      code: error.code,
      detail: message,
      requestId: call.id,
    };
    return { status, contentType: PROBLEM, body: JSON.stringify(problem), headers };
  }
  return { status, contentType: TEXT, body: message, headers };
}
