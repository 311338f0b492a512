import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LONG_WORK_MAX, SLICE_MS } from '../limits.ts';
import {
  filterInSlices,
  mapInSlices,
  NeedsSteps,
  runAtOnce,
  runInSlices,
  SharedSteps,
  type Steps,
  sortInSlices,
  withNeededSteps,
} from './slices.ts';

const always = (): void => undefined;

/** Long work: takes as long as three slices. */
function* threeSlices(): Steps<string> {
  const endMs = performance.now() + 3 * SLICE_MS;
  while (performance.now() < endMs) yield;
  return 'done';
}

describe('runInSlices', () => {
  test('returns the result of short work without a delay', () => {
    function* short(): Steps<string> {
      yield;
      return 'done';
    }
    assert.equal(runInSlices({ begin: short, check: always }), 'done');
  });

  test('gives the event loop back between slices [SRV-124]', async () => {
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 3) setImmediate(count);
    };
    setImmediate(count);
    // Ends only if the event loop turns between its steps.
    function* untilThreeTurns(): Steps<string> {
      while (turns < 3) yield;
      return 'done';
    }
    const result = runInSlices({ begin: untilThreeTurns, check: always });
    assert.ok(result instanceof Promise);
    assert.equal(await result, 'done');
  });

  test('stops work whose caller has left, and frees what it holds [SRV-125]', async () => {
    let hasLeft = false;
    let isFreed = false;
    function* endless(): Steps<void> {
      try {
        for (;;) yield;
      } finally {
        isFreed = true;
      }
    }
    const check = (): void => {
      if (hasLeft) throw new Error('left');
    };
    const result = runInSlices({ begin: endless, check });
    hasLeft = true;
    await assert.rejects(async () => await result, /left/);
    assert.ok(isFreed);
  });

  test('holds at most LONG_WORK_MAX results under way', async () => {
    let underWay = 0;
    let most = 0;
    function* counted(): Steps<void> {
      underWay += 1;
      most = Math.max(most, underWay);
      try {
        yield* threeSlices();
      } finally {
        underWay -= 1;
      }
    }
    await Promise.all(Array.from({ length: 3 * LONG_WORK_MAX }, () => runInSlices({ begin: counted, check: always })));
    assert.ok(most <= LONG_WORK_MAX + 1, `${most} under way`);
  });

  test('rejects with the error of the work', async () => {
    function* failing(): Steps<void> {
      yield* threeSlices();
      throw new Error('no');
    }
    await assert.rejects(async () => await runInSlices({ begin: failing, check: always }), /no/);
  });
});

describe('SharedSteps', () => {
  test('computes a result once for all who join, also if the first one leaves', () => {
    let steps = 0;
    function* make(): Steps<number> {
      for (let i = 0; i < 10; i++) {
        steps += 1;
        yield;
      }
      return 7;
    }
    const ends: unknown[] = [];
    const shared = new SharedSteps(make(), (result) => void ends.push(result));
    const [first, second] = [shared.join(), shared.join()];
    for (let i = 0; i < 3; i++) {
      first.next();
      second.next();
    }
    first.return(0);
    assert.equal(runAtOnce(second), 7);
    assert.equal(steps, 10);
    assert.deepEqual(ends, [{ value: 7 }]);
    assert.equal(runAtOnce(shared.join()), 7);
  });

  test('ends when all have left, and passes errors to all', () => {
    const ends: unknown[] = [];
    const left = new SharedSteps(threeSlices(), (result) => void ends.push(result));
    const only = left.join();
    only.next();
    only.return('');
    assert.deepEqual(ends, [undefined]);
    const failing = new SharedSteps(
      (function* (): Steps<void> {
        yield;
        throw new Error('no');
      })(),
      always,
    );
    const [first, second] = [failing.join(), failing.join()];
    second.next();
    assert.throws(() => runAtOnce(first), /no/);
    assert.throws(() => runAtOnce(second), /no/);
  });
});

describe('NeedsSteps', () => {
  test('makes the steps run and the function run again', () => {
    const known = new Set<number>();
    const lookUp = (key: number): number => {
      if (known.has(key)) return 10 * key;
      throw new NeedsSteps(function* () {
        yield;
        known.add(key);
      });
    };
    assert.deepEqual(runAtOnce(mapInSlices([1, 2], lookUp)), [10, 20]);
    assert.deepEqual(runAtOnce(filterInSlices([3, 4], (key) => lookUp(key) > 30)), [4]);
    const sum = function* (): Steps<number> {
      yield;
      return lookUp(5) + lookUp(6);
    };
    assert.equal(runAtOnce(withNeededSteps(sum)), 110);
  });
});

test('sortInSlices sorts as Array.prototype.sort', () => {
  const item = fc.record({ key: fc.integer({ min: 0, max: 50 }), id: fc.integer() });
  const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
  fc.assert(
    fc.property(fc.array(item, { maxLength: 200 }), fc.integer({ min: 1, max: 60 }), (some, copies) => {
      const items = Array.from({ length: copies }, () => some).flat();
      assert.deepEqual(runAtOnce(sortInSlices([...items], compare)), items.toSorted(compare));
    }),
    { numRuns: 50 },
  );
});
