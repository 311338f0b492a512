import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SpanStatusCode } from '@opentelemetry/api';
import { startTraces, type Traces } from '../../../../test/support/process/traces.ts';
import { IMPORTS_PER_SPAN_MAX } from '../limits.ts';
import { createImportSpans, type ImportSpans } from './import-spans.ts';

const EAST = { name: 'east', partition: 'default' };

describe('import spans', () => {
  let traces: Traces;
  let spans: ImportSpans;
  beforeEach(() => {
    traces = startTraces();
    spans = createImportSpans(() => EAST);
  });
  afterEach(() => traces[Symbol.dispose]());

  const counts = (): readonly unknown[] =>
    traces.spans.map(({ attributes }) => [attributes['accord.import.resources'], attributes['accord.import.failed']]);

  it('are shared by parallel imports, and separate for later ones', async () => {
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

  it('contain the peering and the error', async () => {
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

  it('end after IMPORTS_PER_SPAN_MAX resources', async () => {
    const works = Array.from({ length: IMPORTS_PER_SPAN_MAX + 1 }, () => spans.within(async () => undefined));
    await Promise.all(works);
    assert.deepEqual(counts(), [
      [IMPORTS_PER_SPAN_MAX, 0],
      [1, 0],
    ]);
  });
});
