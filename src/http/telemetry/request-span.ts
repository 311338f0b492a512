/** One server span for each request, by the semantic conventions of OpenTelemetry for HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import { currentTracer, failSpan } from './tracing.ts';

/** The methods that the conventions name; any other is `_OTHER`, so that names of spans stay few. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

/** What names a request. */
export interface TracedRequest {
  /** The pattern of the route; undefined: no endpoint has taken it. */
  readonly route: string | undefined;
  readonly id: string;
}

/**
 * Begins the span of a request; it ends with the connection's part in it, whoever answers and whether the caller waits
 * for the answer or not. Neither path nor query are in it: people put into both what should not be there, as into
 * `?token=`, and the pattern of the route says where a request went.
 *
 * The parent is what the caller names in `traceparent`, if the SDK has a propagator that reads it, or else whatever
 * the SDK itself has made for this request.
 * @returns undefined: nothing is traced
 */
export function startRequestSpan(
  request: IncomingMessage,
  response: ServerResponse,
  { route, id }: TracedRequest,
): Span | undefined {
  const tracer = currentTracer();
  if (tracer === undefined) return undefined;
  const given = request.method ?? '';
  const method = METHODS.has(given) ? given : '_OTHER';
  const shown = method === '_OTHER' ? 'HTTP' : method;
  const attributes = {
    'http.request.method': method,
    'url.scheme': (request.socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http',
    'network.protocol.version': request.httpVersion,
    'accord.request.id': id,
    ...(route !== undefined && { 'http.route': route }),
    ...(method === '_OTHER' && { 'http.request.method_original': given }),
    ...(request.socket.remoteAddress !== undefined && { 'client.address': request.socket.remoteAddress }),
  };
  const name = route === undefined ? shown : `${shown} ${route}`;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parentOf(request));
  response.once('close', () => {
    endRequestSpan(span, response);
  });
  return span;
}

function parentOf({ headers }: IncomingMessage): ReturnType<typeof context.active> {
  const active = context.active();
  return trace.getSpan(active) === undefined ? propagation.extract(ROOT_CONTEXT, headers) : active;
}

function endRequestSpan(span: Span, { headersSent, statusCode, writableFinished }: ServerResponse): void {
  if (headersSent) span.setAttribute('http.response.status_code', statusCode);
  // No fault of ours, and no error: who waits for a change may stop waiting.
  if (!writableFinished) span.setAttribute('accord.request.abandoned', true);
  if (statusCode >= 500) failSpan(span, String(statusCode));
  span.end();
}
