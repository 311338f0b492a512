/** Error responses of `/v1`: plain text, or a problem document (RFC 9457) if the client accepts it. */
import { STATUS_CODES } from 'node:http';
import { type Static, Type } from 'typebox';
import { acceptsExactly } from '../accept.ts';
import type { Answer, Call } from '../call.ts';
import { type ServiceError, serviceErrorCodes } from '../errors.ts';

const PROBLEM = 'application/problem+json';
const TEXT = 'text/plain; charset=utf-8';

const problemSchema = Type.Object(
  {
    type: Type.Literal('about:blank'),
    title: Type.String({ description: 'The reason phrase of the status.' }),
    status: Type.Integer(),
    code: Type.Enum([...serviceErrorCodes], { description: 'For programs; its meaning never changes.' }),
    detail: Type.String({ description: 'The message, for people.' }),
    requestId: Type.String({ description: 'Identifies the request in the log.' }),
  },
  { title: 'Problem', description: 'RFC 9457' },
);

export const errorSchemas = { [TEXT]: Type.String(), [PROBLEM]: problemSchema };

/** Converts an error into a response. The message of an `internal` error contains only the request ID. [SRV-76] */
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
