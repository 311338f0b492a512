import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createKeyQueue, type KeyQueue } from './key-queue.ts';

type Pair = readonly [key: string, value: number];
type Action = (queue: KeyQueue<number>, model: Pair[], key: string, value: number) => void;

const placeOf = (model: readonly Pair[], key: string): number => model.findIndex(([name]) => name === key);

/** The operations of a queue, each applied to a list of pairs as well. */
const ACTIONS = {
  put(queue, model, key, value) {
    queue.put(key, value);
    const place = placeOf(model, key);
    if (place >= 0) model.splice(place, 1);
    model.push([key, value]);
  },
  add(queue, model, key, value) {
    queue.add(key, value);
    if (placeOf(model, key) < 0) model.push([key, value]);
  },
  take(queue, model) {
    assert.equal(queue.take(), model.shift()?.[1]);
  },
  get(queue, model, key) {
    assert.equal(queue.get(key), model[placeOf(model, key)]?.[1]);
  },
  clear(queue, model) {
    queue.clear();
    model.length = 0;
  },
} as const satisfies Readonly<Record<string, Action>>;

describe('a key queue', () => {
  it('returns values in order and moves a key that is put again to the end', () => {
    const queue = createKeyQueue<number>();
    queue.put('a', 1);
    queue.put('b', 2);
    queue.put('a', 3);
    queue.add('b', 4);
    assert.deepEqual([queue.size, queue.take(), queue.take(), queue.take()], [2, 2, 3, undefined]);
  });

  it('behaves like a list of pairs', () => {
    const action = fc.record({
      what: fc.constantFrom(...(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])),
      key: fc.constantFrom('a', 'b', 'c'),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const queue = createKeyQueue<number>();
        const model: Pair[] = [];
        for (const [number, { what, key }] of actions.entries()) {
          ACTIONS[what](queue, model, key, number);
          assert.deepEqual([queue.size, queue.peek()], [model.length, model[0]?.[1]]);
        }
      }),
    );
  });
});
