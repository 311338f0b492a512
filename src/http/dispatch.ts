/** From a call to its answer: by an endpoint, or by what there is to say without one. */

import type { Call } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import { ServiceError } from './errors.ts';
import { QUOTED_LENGTH_MAX } from './limits.ts';
import { preflightHeaders } from './origin.ts';
import { sendAnswer, sendError } from './send.ts';
import { within } from './tracing.ts';

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

/** 404 where no endpoint has the path; with `allow`, the methods of those that do, 405, or 200 for OPTIONS. */
export function answerWithoutEndpoint(call: Call, path: string, allow: string | undefined): void {
  const { method } = call.request;
  if (allow === undefined) {
    sendError(
      call,
      new ServiceError('not-found', `Nothing is served at ${JSON.stringify(path.slice(0, QUOTED_LENGTH_MAX))}`),
    );
  } else if (method === 'OPTIONS') {
    const cors = call.crossOrigin.length > 0 ? preflightHeaders(allow) : [];
    sendAnswer(call, { status: 200, body: '', headers: ['Allow', allow, ...cors] });
  } else {
    const message = `method ${method} not allowed`;
    sendError(call, new ServiceError('method-not-allowed', message, { headers: ['Allow', allow] }));
  }
}
