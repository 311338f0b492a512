/**
 * Spans of what a peer brings. What comes side by side is written together, and is one span, whether it is one service
 * that has changed or the thousands of a first synchronisation; a span for each of those would bury everything else.
 */
import type { Span } from '@opentelemetry/api';
import { failSpan, recordError, startSpan } from '../../../http/telemetry/tracing.ts';
import { type PeeringName, peeringSpan } from '../../spans.ts';
import { IMPORTS_IN_A_SPAN_MAX } from '../limits.ts';

export interface ImportSpans {
  /** Does the work as a part of the batch that is under way, or else of a new one. Gives and throws what the work does. */
  within<T>(work: () => Promise<T>): Promise<T>;
}

/** A batch is over when nothing of it is under way any more. */
interface Batch {
  readonly span: Span;
  begun: number;
  underWay: number;
  failed: number;
}

/** @param peering asked when a batch begins */
export function createImportSpans(peering: () => PeeringName | undefined): ImportSpans {
  let current: Batch | undefined;

  function join(): Batch | undefined {
    if (current === undefined || current.begun === IMPORTS_IN_A_SPAN_MAX) {
      const span = startSpan(peeringSpan('accord.peering.import', peering()));
      current = span && { span, begun: 0, underWay: 0, failed: 0 };
    }
    if (current === undefined) return undefined;
    current.begun += 1;
    current.underWay += 1;
    return current;
  }

  function leave(batch: Batch): void {
    batch.underWay -= 1;
    if (batch.underWay > 0) return;
    const { span, begun, failed } = batch;
    span.setAttributes({ 'accord.import.resources': begun, 'accord.import.failed': failed });
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
