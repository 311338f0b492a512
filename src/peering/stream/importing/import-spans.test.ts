import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SpanStatusCode } from '@opentelemetry/api';
import { startTraces, type Traces } from '../../../../test/support/process/traces.ts';
import { IMPORTS_IN_A_SPAN_MAX } from '../limits.ts';
import { createImportSpans, type ImportSpans } from './import-spans.ts';

const EAST = { name: 'east', partition: 'default' };

describe('the spans of imports', () => {
  let traces: Traces;
  let spans: ImportSpans;
  beforeEach(() => {
    traces = startTraces();
    spans = createImportSpans(() => EAST);
  });
  afterEach(() => traces[Symbol.dispose]());

  const counts = (): readonly unknown[] =>
    traces.spans.map(({ attributes }) => [attributes['accord.import.resources'], attributes['accord.import.failed']]);

  it('are one for what comes side by side, and one for what comes later', async () => {
    const gate = Promise.withResolvers<void>();
    const together = [gate.promise, gate.promise].map((work) => spans.within(() => work));
    assert.deepEqual(counts(), []);
    gate.resolve();
    await Promise.all(together);
    await spans.within(async () => undefined);
    assert.deepEqual(counts(), [
      [2, 0],
      [1, 0],
    ]);
  });

  it('name the peering, and what failed in them', async () => {
    const fails = spans.within(() => Promise.reject(new RangeError('too many')));
    await assert.rejects(fails, /too many/);
    const [span] = traces.spans;
    assert.deepEqual(span?.attributes, {
      'accord.peering.name': 'east',
      'accord.peering.partition': 'default',
      'accord.import.resources': 1,
      'accord.import.failed': 1,
      'error.type': 'RangeError',
    });
    assert.equal(span.status.code, SpanStatusCode.ERROR);
    assert.equal(span.events[0]?.attributes?.['exception.message'], 'too many');
  });

  it('end though the stream never rests', async () => {
    const works = Array.from({ length: IMPORTS_IN_A_SPAN_MAX + 1 }, () => spans.within(async () => undefined));
    await Promise.all(works);
    assert.deepEqual(counts(), [
      [IMPORTS_IN_A_SPAN_MAX, 0],
      [1, 0],
    ]);
  });
});
