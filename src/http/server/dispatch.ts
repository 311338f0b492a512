/** From a call to its answer: by an endpoint, or by what there is to say without one. */

import type { Call } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';
import { sendAnswer, sendError } from '../send.ts';
import { within } from '../telemetry/tracing.ts';
import { preflightHeaders } from './origin.ts';

/** Lets the endpoint answer, and answers for it when it throws. */
export function runEndpoint(endpoint: Endpoint, call: Call): void {
  if (call.span === undefined) answerBy(endpoint, call);
  else within(call.span, () => answerBy(endpoint, call));
}

function answerBy(endpoint: Endpoint, call: Call): void {
  try {
    const answer = endpoint.handle(call);
    if (answer === undefined) return;
    if (answer instanceof Promise) {
      answer.then((later) => sendAnswer(call, later)).catch((error: unknown) => sendError(call, error));
    } else {
      sendAnswer(call, answer);
    }
  } catch (error) {
    sendError(call, error);
  }
}

/**
 * Counts a request that no endpoint takes. @returns headers of its refusal, flat
 * @throws ServiceError which refuses it instead
 */
export type CountUnserved = (call: Call) => readonly string[];

/** What is known of a request that no endpoint takes. */
export interface Unserved {
  /** The methods of the endpoints at its path; `undefined`: there are none. */
  readonly allow: string | undefined;
  readonly count: CountUnserved | undefined;
}

/** 404 where no endpoint has the path, 405 where some have, or 200 for OPTIONS. */
export function answerWithoutEndpoint(call: Call, path: string, { allow, count }: Unserved): void {
  if (allow !== undefined && call.request.method === 'OPTIONS') {
    const cors = call.crossOrigin.length > 0 ? preflightHeaders(allow) : [];
    sendAnswer(call, { status: 200, body: '', headers: ['Allow', allow, ...cors] });
    return;
  }
  try {
    sendError(call, refusal(call, path, allow, count?.(call) ?? []));
  } catch (error) {
    sendError(call, error);
  }
}

function refusal(
  { request: { method } }: Call,
  path: string,
  allow: string | undefined,
  headers: readonly string[],
): ServiceError {
  if (allow !== undefined) {
    const options = { headers: ['Allow', allow, ...headers] };
    return new ServiceError('method-not-allowed', `method ${method} not allowed`, options);
  }
  const quoted = JSON.stringify(path.slice(0, QUOTED_LENGTH_MAX));
  return new ServiceError('not-found', `Nothing is served at ${quoted}`, { headers });
}
