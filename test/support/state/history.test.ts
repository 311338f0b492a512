import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createRandom } from '../random.ts';
import { type Action, findViolations, type HistoryOperation } from './history.ts';

/** Returns an operation: `at(1, 3, read(5))` was called at 1 and returned at 3. */
const at = (calledAt: number, returnedAt: number | undefined, action: Action, key = 'k'): HistoryOperation => ({
  process: 'p',
  key,
  calledAt,
  returnedAt,
  action,
});
const read = (value: number | undefined): Action => ({ kind: 'read', value });
const write = (value: number): Action => ({ kind: 'write', value });
const swap = (expected: number | undefined, value: number, done: boolean | undefined): Action => ({
  kind: 'swap',
  expected,
  value,
  done,
});
const add = (value: number | undefined): Action => ({ kind: 'add', value });

const linearizable: Readonly<Record<string, readonly HistoryOperation[]>> = {
  'a read of a register that was never written': [at(1, 2, read(undefined))],
  'sequential operations': [at(1, 2, write(1)), at(3, 4, read(1)), at(5, 6, write(2)), at(7, 8, read(2))],
  'a read concurrent with a write returns the old value': [at(1, 2, write(1)), at(3, 10, write(2)), at(4, 5, read(1))],
  'a read concurrent with a write returns the new value': [at(1, 2, write(1)), at(3, 10, write(2)), at(4, 5, read(2))],
  'concurrent writes take effect in reverse order': [at(1, 10, write(1)), at(2, 9, write(2)), at(11, 12, read(1))],
  'one of two concurrent swaps succeeds': [
    at(1, 5, swap(undefined, 1, true)),
    at(2, 4, swap(undefined, 2, false)),
    at(6, 7, read(1)),
  ],
  'concurrent additions count up': [at(1, 9, add(2)), at(2, 8, add(1)), at(3, 7, add(3)), at(10, 11, read(3))],
  'an unknown write took effect': [at(1, undefined, write(1)), at(5, 6, read(1))],
  'an unknown write took effect late': [at(1, undefined, write(1)), at(5, 6, read(undefined)), at(7, 8, read(1))],
  'an unknown write never took effect': [
    at(1, undefined, write(1)),
    at(5, 6, read(undefined)),
    at(7, 8, write(2)),
    at(9, 10, read(2)),
  ],
  'an unknown swap took effect': [
    at(1, undefined, swap(undefined, 1, undefined)),
    at(5, 6, swap(1, 2, true)),
    at(7, 8, read(2)),
  ],
  'operations on independent keys': [at(1, 2, write(1), 'a'), at(3, 4, read(undefined), 'b'), at(5, 6, read(1), 'a')],
  'a return and a call at the same time overlap': [at(1, 2, write(1)), at(2, 3, read(undefined))],
};

const violations: Readonly<Record<string, readonly HistoryOperation[]>> = {
  'a stale read': [at(1, 2, write(1)), at(3, 4, write(2)), at(5, 6, read(1))],
  'a read from the future': [at(1, 2, read(1)), at(3, 4, write(1))],
  'a read of a value that was never written': [at(1, 2, write(1)), at(3, 4, read(7))],
  'a lost write': [at(1, 2, write(1)), at(3, 4, read(undefined))],
  'a lost update of two concurrent additions': [at(1, 5, add(1)), at(2, 4, add(1))],
  'an addition that took effect twice': [at(1, 2, add(1)), at(3, 4, add(3))],
  'two successful swaps of the same value': [at(1, 5, swap(undefined, 1, true)), at(2, 4, swap(undefined, 2, true))],
  'a failed swap whose expected value matched': [at(1, 2, write(1)), at(3, 4, swap(1, 2, false))],
  'reads that disagree on the order of writes': [
    at(1, 20, write(1)),
    at(2, 19, write(2)),
    at(3, 4, read(1)),
    at(5, 6, read(2)),
    at(7, 8, read(1)),
  ],
  'a read of the old value after a read of the new one': [
    at(1, 2, write(1)),
    at(3, 20, write(2)),
    at(4, 5, read(2)),
    at(6, 7, read(1)),
  ],
  'an unknown write that took effect and was undone': [
    at(1, undefined, write(1)),
    at(3, 4, read(1)),
    at(5, 6, read(undefined)),
  ],
  'an unknown write that took effect before its call': [at(1, 2, read(1)), at(3, undefined, write(1))],
  'an unknown addition that counts twice': [at(1, undefined, add(undefined)), at(3, 4, add(1)), at(5, 6, read(3))],
};

describe('history check', () => {
  for (const [name, history] of Object.entries(linearizable)) {
    it(`accepts: ${name}`, () => assert.deepEqual(findViolations(history), []));
  }
  for (const [name, history] of Object.entries(violations)) {
    it(`rejects: ${name}`, () => assert.equal(findViolations(history).length, 1));
  }

  it('agrees with an exhaustive search', () => {
    const action = fc.oneof(
      fc.option(fc.nat(2), { nil: undefined }).map(read),
      fc.nat(2).map(write),
      fc
        .tuple(fc.option(fc.nat(2), { nil: undefined }), fc.nat(2), fc.boolean())
        .map(([expected, value, done]) => swap(expected, value, done)),
      fc.integer({ min: 1, max: 3 }).map(add),
    );
    const operation = fc
      .record({ calledAt: fc.nat(12), ms: fc.option(fc.nat(6), { nil: undefined }), action })
      .map(({ calledAt, ms, action }) =>
        at(calledAt, ms === undefined ? undefined : calledAt + ms, ms === undefined ? forget(action) : action),
      );
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 6 }), (history) => {
        assert.equal(findViolations(history).length === 0, someOrderFits(history));
      }),
      { numRuns: 3_000 },
    );
  });

  it('checks thousands of operations and finds the wrong one', () => {
    const history = makeHistory(6_000, 40);
    assert.deepEqual(findViolations(history), []);
    const reads = history.flatMap(({ action }, i) => (action.kind === 'read' ? [i] : []));
    const wrong = reads[Math.floor(reads.length / 2)] ?? 0;
    const spoiled = history.map((operation, i) => (i === wrong ? { ...operation, action: read(-1) } : operation));
    assert.deepEqual(
      findViolations(spoiled).map(({ key }) => key),
      [history[wrong]?.key],
    );
  });
});

/** Returns the action with an unknown outcome. */
function forget(action: Action): Action {
  if (action.kind === 'swap') return { ...action, done: undefined };
  return action.kind === 'add' ? add(undefined) : action;
}

/** Tries every order of every choice of unknown operations. Only for short histories. */
function someOrderFits(left: readonly HistoryOperation[], value?: number): boolean {
  if (left.every(({ returnedAt }) => returnedAt === undefined)) return true;
  return left.some((next, i) => {
    if (left.some(({ returnedAt }) => returnedAt !== undefined && returnedAt < next.calledAt)) return false;
    if (next.action.kind === 'read' && next.returnedAt === undefined) return false;
    const [fits, after] = follow(value, next.action);
    return fits && someOrderFits(left.toSpliced(i, 1), after);
  });
}

/** Returns whether a register with this value allows the result, and its value afterwards. */
function follow(value: number | undefined, action: Action): readonly [boolean, number | undefined] {
  const sum = (value ?? 0) + 1;
  switch (action.kind) {
    case 'read':
      return [action.value === value, value];
    case 'write':
      return [true, action.value];
    case 'swap':
      return [
        (action.done ?? value === action.expected) === (value === action.expected),
        value === action.expected ? action.value : value,
      ];
    case 'add':
      return [(action.value ?? sum) === sum, sum];
  }
}

/** Generates a linearizable history of twelve processes with one register for each key. */
function makeHistory(count: number, keys: number): HistoryOperation[] {
  const random = createRandom(7);
  const values = new Map<string, number | undefined>();
  return Array.from({ length: count }, (_, i) => {
    const key = `k${random.below(keys)}`;
    const value = values.get(key);
    const action = random.pick([
      read(value),
      write(i),
      swap(value, i, true),
      swap(-1, i, false),
      add((value ?? 0) + 1),
    ]);
    values.set(key, follow(value, action)[1]);
    const happensAt = i * 10;
    const calledAt = happensAt - random.below(60);
    const known = action.kind === 'read' || !random.chance(0.01);
    return {
      ...at(calledAt, known ? happensAt + random.below(60) : undefined, known ? action : forget(action), key),
      process: `p${i % 12}`,
    };
  });
}
