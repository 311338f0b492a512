/** Answers a call: with its endpoint, after reading the body, or with 404, 405 or `Allow` if no endpoint serves it. */
import type { IncomingMessage } from 'node:http';
import type { Call } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';
import { sendAnswer, sendError } from '../send.ts';
import { withSpan } from '../telemetry/tracing.ts';
import { preflightHeaders } from './origin.ts';

export interface BodyLimit {
  readonly bytesMax: number;
  /** The setting that an operator can raise. */
  readonly setting: 'limits.body' | 'limits.bulk-body';
}

/** Reads the body, unless the method is `GET` or `HEAD`, and runs the endpoint. Sends an error if either fails. */
export function runEndpoint(endpoint: Endpoint, call: Call, limit: BodyLimit): void {
  const body = endpoint.method === 'GET' ? undefined : readBody(call.request, limit);
  if (body === undefined) {
    runWithSpan(endpoint, call);
    return;
  }
  body
    .then((bytes) => runWithSpan(endpoint, { ...call, body: bytes }))
    .catch((error: unknown) => sendError(call, error));
}

function runWithSpan(endpoint: Endpoint, call: Call): void {
  if (call.span === undefined) run(endpoint, call);
  else withSpan(call.span, () => run(endpoint, call));
}

function run(endpoint: Endpoint, call: Call): void {
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

/** Reads the whole body. Returns `undefined` if there is no body, so that the caller need not wait for a promise. */
function readBody(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> | undefined {
  const length = request.headers['content-length'];
  if (request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return undefined;
  if (Number(length) > limit.bytesMax) return Promise.reject(bodyTooLarge(request, limit));
  return collectBody(request, limit);
}

function collectBody(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= limit.bytesMax) return;
      request.off('data', onData);
      reject(bodyTooLarge(request, limit));
    };
    request.on('data', onData);
    request.once('end', () => resolve(Buffer.concat(chunks, bytes)));
    // The client has disconnected and does not read this message.
    request.once('error', (error) =>
      reject(new ServiceError('bad-request', 'the body is incomplete', { cause: error })),
    );
  });
}

/**
 * Returns the error for a body past its limit, and discards the rest of the body. Closing the connection instead would
 * reset it before a client that is still sending has read the error. The request timeout bounds how long this takes.
 */
function bodyTooLarge(request: IncomingMessage, { bytesMax, setting }: BodyLimit): ServiceError {
  request.resume();
  return new ServiceError('too-large', `The request body is larger than ${bytesMax} bytes (${setting})`);
}

/** Counts a request that no endpoint serves. @returns flat error headers @throws ServiceError instead of 404 or 405 */
export type UnmatchedHook = (call: Call) => readonly string[];

export interface UnmatchedOptions {
  /** The methods of the endpoints at the path; `undefined` if no endpoint has the path. */
  readonly allow: string | undefined;
  readonly hook: UnmatchedHook | undefined;
}

/** Sends 200 for `OPTIONS` if an endpoint has the path, 405 for other methods, and 404 if no endpoint has the path. */
export function answerUnmatched(call: Call, path: string, { allow, hook }: UnmatchedOptions): void {
  if (allow !== undefined && call.request.method === 'OPTIONS') {
    const cors = call.corsHeaders.length > 0 ? preflightHeaders(allow) : [];
    sendAnswer(call, { status: 200, body: '', headers: ['Allow', allow, ...cors] });
    return;
  }
  try {
    sendError(call, unmatchedError(call, path, allow, hook?.(call) ?? []));
  } catch (error) {
    sendError(call, error);
  }
}

function unmatchedError(
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
