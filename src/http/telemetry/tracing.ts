/**
 * Traces, through the OpenTelemetry API. Operators who want them preload an SDK, which registers itself with the API and
 * decides what is sampled and where it goes; without one no span is ever made, and what is left is one look at a global.
 *
 * What must not be known does not come here: spans have attributes that their authors chose one by one, as lines of the
 * log have. Errors are recorded with their kind, message and stack, as the log records them.
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

/** Names what made the spans, as the instrumentation scope. */
const SCOPE = 'accord';

/** The tracer of the SDK; undefined: there is none. Asked for each span, since an SDK may come late. */
export function currentTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  // The API's own stand-in: what it would make costs as much as a span and goes nowhere.
  if (provider instanceof ProxyTracerProvider) return provider.getDelegateTracer(SCOPE);
  return provider.getTracer(SCOPE);
}

/** A span to be. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** Begins a trace of its own: what goes on in the background is no part of the request that happened to wake it. */
  readonly root?: boolean;
}

/** Begins a span, which the caller ends. Undefined: nothing is traced. */
export const startSpan = ({ name, ...options }: SpanStart): Span | undefined =>
  currentTracer()?.startSpan(name, options);

/** Does the work within the span, so that spans begun in it are its children. @returns what the work gives */
export const within = <T>(span: Span, work: () => T): T => context.with(trace.setSpan(context.active(), span), work);

/** Does the work in a span of its own. Rejects with what the work rejects with, which is recorded. */
export async function traced<T>(start: SpanStart, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  const span = startSpan(start);
  if (span === undefined) return await work(undefined);
  try {
    return await within(span, () => work(span));
  } catch (error) {
    const { name, message } = recordError(span, error);
    failSpan(span, name, message);
    throw error;
  } finally {
    span.end();
  }
}

/** Notes in the span what was thrown while it went on; that alone is no failure of it. @returns it, as an Error */
export function recordError(span: Span, thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  span.recordException(error);
  return error;
}

/** The span has failed. @param type one of few @param message for people, where the type does not say it all */
export function failSpan(span: Span, type: string, message?: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
}
