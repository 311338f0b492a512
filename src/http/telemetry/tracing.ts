/**
 * Creates spans through the OpenTelemetry API. An operator who wants traces preloads an SDK, which registers itself with
 * the API and decides about sampling and export. Without an SDK no span is created, and the cost is one global lookup.
 *
 * Spans contain only attributes that their authors chose, and the name, message and stack of errors. [SRV-78]
 */
import {
  type Attributes,
  context,
  ProxyTracerProvider,
  type Span,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';

/** The name of the instrumentation scope. */
const SCOPE = 'accord';

/** Returns the tracer of the SDK, or `undefined` without one. Looked up for each span, because an SDK may load late. */
export function currentTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  // Without an SDK the delegate is `undefined`. The API's no-op spans would cost as much as real ones.
  if (provider instanceof ProxyTracerProvider) return provider.getDelegateTracer(SCOPE);
  return provider.getTracer(SCOPE);
}

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** Whether the span starts a trace of its own, as background work does that a request happened to wake. */
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
