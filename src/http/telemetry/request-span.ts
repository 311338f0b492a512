/** One server span for each request, following the OpenTelemetry semantic conventions for HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import { currentTracer, failSpan } from './tracing.ts';

/** The methods of the conventions. Any other becomes `_OTHER`, so that span names have low cardinality. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

export interface TracedRequest {
  /** The pattern of the route, or `undefined` if no endpoint matches. */
  readonly route: string | undefined;
  readonly id: string;
}

/**
 * Starts the span of a request. It ends when the response is complete or the client disconnects.
 *
 * The span contains neither path nor query, because people put secrets there, as in `?token=`. Its parent is the span
 * that the SDK has created for this request, or else the one in `traceparent`.
 * @returns `undefined` if tracing is off
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
  // A disconnect is not an error, because clients of blocking queries may disconnect at any time.
  if (!writableFinished) span.setAttribute('accord.request.abandoned', true);
  if (statusCode >= 500) failSpan(span, String(statusCode));
  span.end();
}
