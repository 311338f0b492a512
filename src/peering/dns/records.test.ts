import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRandom } from '../../../test/support/random.ts';
import { inRandomOrder } from './records.ts';

test('inRandomOrder yields every item once', () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer(), (items, seed) => {
      const order = [...inRandomOrder(items, createRandom(seed).next)];
      assert.deepEqual(
        order.toSorted((a, b) => a - b),
        items.toSorted((a, b) => a - b),
      );
    }),
  );
});

test('inRandomOrder yields all permutations about equally often', () => {
  const random = createRandom(1);
  const counts = new Map<string, number>();
  for (let i = 0; i < 6_000; i++) {
    const order = [...inRandomOrder(['a', 'b', 'c'], random.next)].join('');
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.equal(counts.size, 6);
  for (const [order, count] of counts) assert.ok(count > 850 && count < 1_150, `${order} came ${count} times`);
});
