/** The real SDK of OpenTelemetry in the test's own process, with everything it is given kept in memory. */
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
  /** The spans that have ended so far. */
  readonly spans: readonly ReadableSpan[];
  /** Waits for a span to end. @returns the first that fits */
  untilSpan(what: string, fits: (span: ReadableSpan) => boolean): Promise<ReadableSpan>;
}

/** The propagator of `traceparent` that comes with the SDK. */
const { W3CTraceContextPropagator } = createRequire(
  createRequire(import.meta.url).resolve('@opentelemetry/sdk-trace-base'),
)('@opentelemetry/core') as { readonly W3CTraceContextPropagator: new () => TextMapPropagator };

/** Registers the SDK until it is disposed; one at a time. */
export function startTraces(): Traces {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  context.setGlobalContextManager(asyncContexts());
  return {
    get spans() {
      return exporter.getFinishedSpans();
    },
    async untilSpan(what, fits) {
      let found: ReadableSpan | undefined;
      await until(what, () => {
        found = exporter.getFinishedSpans().find(fits);
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

/** What the SDKs for Node.js use. */
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

/** Everything that spans say, as one text: what must not be in any of them is not in it. */
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
