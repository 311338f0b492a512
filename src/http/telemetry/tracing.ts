/**
 * Creates spans of requests and of other work through the OpenTelemetry API. An operator who wants traces preloads an
 * SDK, which registers itself with the API and decides about sampling and export. Without an SDK no span is created,
 * and the cost is one global lookup.
 *
 * Spans contain only attributes that their authors chose, and the name, message and stack of errors. [SRV-78]
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import {
  type Attributes,
  context,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';

/** The name of the instrumentation scope. */
const SCOPE = 'accord';

/** Returns the tracer of the SDK, or `undefined` without one. Looked up for each span, because an SDK may load late. */
function currentTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  // Without an SDK the delegate is `undefined`. The API's no-op spans would cost as much as real ones.
  if (provider instanceof ProxyTracerProvider) return provider.getDelegateTracer(SCOPE);
  return provider.getTracer(SCOPE);
}

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** Whether the span starts a new trace. For background work, which a request may have woken by chance. */
  readonly root?: boolean;
}

/** Starts a span, which the caller must end. Returns `undefined` if tracing is off. */
export const startSpan = ({ name, ...options }: SpanStart): Span | undefined =>
  currentTracer()?.startSpan(name, options);

/** Runs `work` with the span as the active one, so that it becomes the parent of spans that `work` starts. */
export const withSpan = <T>(span: Span, work: () => T): T => context.with(trace.setSpan(context.active(), span), work);

/** Runs `work` in a new span. If it rejects, records the error in the span and rejects with it. */
export async function traced<T>(start: SpanStart, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  const span = startSpan(start);
  if (span === undefined) return await work(undefined);
  try {
    return await withSpan(span, () => work(span));
  } catch (error) {
    const { name, message } = recordError(span, error);
    failSpan(span, name, message);
    throw error;
  } finally {
    span.end();
  }
}

/** Records an error in the span without marking the span as failed. @returns `thrown` as an Error */
export function recordError(span: Span, thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  span.recordException(error);
  return error;
}

/** Marks the span as failed. `type` has low cardinality, such as an error name; `message` is for people. */
export function failSpan(span: Span, type: string, message?: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
}

/** The methods of the conventions. Any other becomes `_OTHER`, so that span names have low cardinality. */
const TRACED_METHODS = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
  'QUERY',
]);

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
  const method = TRACED_METHODS.has(given) ? given : '_OTHER';
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
