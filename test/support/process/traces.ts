/** The OpenTelemetry SDK in the process of the test. It keeps all spans in memory. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import {
  type Context,
  type ContextManager,
  context,
  propagation,
  ROOT_CONTEXT,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { until } from '../until.ts';

export interface Traces extends Disposable {
  /** The finished spans. */
  readonly spans: readonly ReadableSpan[];
  /** Waits for a finished span that matches. @returns the first match */
  untilSpan(what: string, matches: (span: ReadableSpan) => boolean): Promise<ReadableSpan>;
}

/** The SDK's propagator of `traceparent`. */
const { W3CTraceContextPropagator } = createRequire(
  createRequire(import.meta.url).resolve('@opentelemetry/sdk-trace-base'),
)('@opentelemetry/core') as { readonly W3CTraceContextPropagator: new () => TextMapPropagator };

/** Registers the SDK globally until disposal. Only one can be registered at a time. */
export function startTraces(): Traces {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  context.setGlobalContextManager(asyncContexts());
  return {
    get spans() {
      return exporter.getFinishedSpans();
    },
    async untilSpan(what, matches) {
      let found: ReadableSpan | undefined;
      await until(what, () => {
        found = exporter.getFinishedSpans().find(matches);
        return found !== undefined;
      });
      return found as ReadableSpan;
    },
    [Symbol.dispose]() {
      trace.disable();
      propagation.disable();
      context.disable();
    },
  };
}

/** Returns a context manager like the one in the SDKs for Node.js. */
function asyncContexts(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, fn, thisArg, ...args) => storage.run(active, () => fn.apply(thisArg as never, args)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

/** Returns the content of spans as one text, for tests that no span contains a secret. */
export const textOf = (spans: readonly ReadableSpan[]): string =>
  JSON.stringify(
    spans.map(({ name, attributes, status, links, events, resource }) => ({
      name,
      attributes,
      status,
      links,
      events,
      resource: resource.attributes,
    })),
  );
