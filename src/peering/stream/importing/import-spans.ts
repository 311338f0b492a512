/**
 * Trace spans of imports. Resources that are applied in parallel share one span, because the first synchronization
 * imports thousands of services.
 */
import type { Span } from '@opentelemetry/api';
import { failSpan, recordError, startSpan } from '../../../http/telemetry/tracing.ts';
import { type PeeringName, peeringSpan } from '../../spans.ts';
import { IMPORTS_PER_SPAN_MAX } from '../limits.ts';

export interface ImportSpans {
  /** Runs `work` in the current span, or in a new one. Returns and throws what `work` does. */
  within<T>(work: () => Promise<T>): Promise<T>;
}

/** The work of one span. It ends when none of it is in flight. */
interface Batch {
  readonly span: Span;
  started: number;
  inFlight: number;
  failed: number;
}

/** @param peering called when a span starts */
export function createImportSpans(peering: () => PeeringName | undefined): ImportSpans {
  let current: Batch | undefined;

  function join(): Batch | undefined {
    if (current === undefined || current.started === IMPORTS_PER_SPAN_MAX) {
      const span = startSpan(peeringSpan('accord.peering.import', peering()));
      current = span && { span, started: 0, inFlight: 0, failed: 0 };
    }
    if (current === undefined) return undefined;
    current.started += 1;
    current.inFlight += 1;
    return current;
  }

  function leave(batch: Batch): void {
    batch.inFlight -= 1;
    if (batch.inFlight > 0) return;
    const { span, started, failed } = batch;
    span.setAttributes({ 'accord.import.resources': started, 'accord.import.failed': failed });
    span.end();
    if (current === batch) current = undefined;
  }

  return {
    async within(work) {
      const batch = join();
      if (batch === undefined) return await work();
      try {
        return await work();
      } catch (error) {
        batch.failed += 1;
        const { name } = recordError(batch.span, error);
        failSpan(batch.span, name);
        throw error;
      } finally {
        leave(batch);
      }
    },
  };
}
