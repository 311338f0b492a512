import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { describe, test } from 'node:test';
import { linkedSignal } from './linked-signal.ts';

describe('a linked signal', () => {
  test('aborts with its source, on abort, and after its timeout', async () => {
    const source = new AbortController();
    using first = linkedSignal(source.signal);
    using second = linkedSignal(source.signal);
    using timed = linkedSignal(source.signal, 1);
    second.abort();
    assert.deepEqual([first.signal.aborted, second.signal.aborted], [false, true]);
    if (!timed.signal.aborted) await once(timed.signal, 'abort');
    source.abort();
    assert.ok(first.signal.aborted);
    using late = linkedSignal(source.signal);
    assert.ok(late.signal.aborted);
  });

  test('leaves no listener on its source after disposal', () => {
    const source = new AbortController();
    for (let count = 0; count < 3; count += 1) {
      using linked = linkedSignal(source.signal, 1_000);
      assert.equal(linked.signal.aborted, false);
    }
    assert.deepEqual(getEventListeners(source.signal, 'abort'), []);
  });
});
