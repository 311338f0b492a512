/** How `/v1` tells errors: the bare text, or a problem document (RFC 9457) for a client that accepts one. */
import { STATUS_CODES } from 'node:http';
import { acceptsExactly } from '../accept.ts';
import type { Answer } from '../answer.ts';
import type { Call } from '../call.ts';
import type { ServiceError } from '../errors.ts';

const PROBLEM = 'application/problem+json';

/** The answer for an error. One of our own says no more than the request's id. */
export function errorAnswer(call: Call, error: ServiceError): Answer {
  const message = error.code === 'internal' ? `Internal error (request ${call.id})` : error.message;
  const headers = [...error.headers, 'X-Content-Type-Options', 'nosniff'];
  if (error.retryAfterSeconds !== undefined) headers.push('Retry-After', String(error.retryAfterSeconds));
  const { status } = error;
  if (acceptsExactly(call.request.headers.accept, PROBLEM)) {
    const problem = { type: 'about:blank', title: STATUS_CODES[status], status, code: error.code, detail: message };
    return { status, contentType: PROBLEM, body: JSON.stringify({ ...problem, requestId: call.id }), headers };
  }
  return { status, contentType: 'text/plain; charset=utf-8', body: message, headers };
}
