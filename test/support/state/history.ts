/**
 * Checks whether a history of concurrent operations is linearizable: each operation takes effect at one moment between
 * its call and its return, and the results are those of a sequential execution in that order.
 *
 * The algorithm is Wing and Gong's with Lowe's memoization. It picks an operation that was called before the first
 * return of the remaining ones, applies it if the register allows its result, and continues with the rest. If no
 * operation fits, it backtracks. It never repeats a combination of applied operations and value. Each key is a register
 * of its own and is checked separately, so thousands of operations take milliseconds.
 *
 * An operation with an unknown outcome may take effect at any time after its call, or never.
 */

/** An operation on a register with its result. `undefined` is the value of a register that was never written. */
export type Action =
  | { readonly kind: 'read'; readonly value: number | undefined }
  | { readonly kind: 'write'; readonly value: number }
  /** Sets `value` if the register contains `expected`. `done` is the result, `undefined` if unknown. */
  | {
      readonly kind: 'swap';
      readonly expected: number | undefined;
      readonly value: number;
      readonly done: boolean | undefined;
    }
  /** Adds one. `value` is the sum, `undefined` if unknown. */
  | { readonly kind: 'add'; readonly value: number | undefined };

/** One operation of a history, with times of one monotonic clock. */
export interface HistoryOperation {
  readonly process: string;
  readonly key: string;
  readonly calledAt: number;
  /** `undefined` if the outcome is unknown. */
  readonly returnedAt: number | undefined;
  readonly action: Action;
}

/** A key whose history is not linearizable, with the longest order that was found. */
export interface Violation {
  readonly key: string;
  /** Number of operations in the longest order. */
  readonly explained: number;
  readonly operations: number;
  /** The value of the register after that order, and the operations that could not follow, in the order of calls. */
  readonly value: number | undefined;
  readonly stuck: readonly HistoryOperation[];
}

/** Returns the keys whose histories are not linearizable. */
export function findViolations(history: readonly HistoryOperation[]): Violation[] {
  const violations: Violation[] = [];
  for (const [key, operations] of Map.groupBy(history, (operation) => operation.key)) {
    const violation = checkKey(key, operations);
    if (violation !== undefined) violations.push(violation);
  }
  return violations;
}

/** Formats a violation for the message of a failed test. */
export function describeViolation({ key, explained, operations, value, stuck }: Violation): string {
  const lines = stuck.map(
    ({ process, calledAt, returnedAt, action }) =>
      `  ${process} ${calledAt}–${returnedAt ?? '?'} ${JSON.stringify(action)}`,
  );
  return [
    `'${key}': ${explained} of ${operations} operations fit; the value is then ${value}, and none of these can follow:`,
    ...lines,
  ].join('\n');
}

type Value = number | undefined;

/** Returns the value after an action, or `false` if the register does not allow its result. */
function apply(value: Value, action: Action): { readonly value: Value } | false {
  switch (action.kind) {
    case 'read':
      return action.value === value && { value };
    case 'write':
      return { value: action.value };
    case 'swap': {
      const matches = value === action.expected;
      if (action.done !== undefined && action.done !== matches) return false;
      return { value: matches ? action.value : value };
    }
    case 'add': {
      const sum = (value ?? 0) + 1;
      return (action.value === undefined || action.value === sum) && { value: sum };
    }
  }
}

/** A call or a return in a doubly linked list. */
interface Entry {
  readonly operation: HistoryOperation;
  readonly number: number;
  /** The return of a call, missing if the outcome is unknown. */
  readonly returned?: Entry;
  readonly isCall: boolean;
  previous: Entry | undefined;
  next: Entry | undefined;
}

interface Done {
  readonly entry: Entry;
  readonly valueBefore: Value;
}

function checkKey(key: string, operations: readonly HistoryOperation[]): Violation | undefined {
  const head = link(operations);
  const done = doneSet();
  const tried = new Set<string>();
  const stack: Done[] = [];
  let value: Value;
  let best: { explained: number; value: Value; stuck: readonly HistoryOperation[] } = {
    explained: -1,
    value,
    stuck: [],
  };
  let entry = head.next;
  // Operations without a return need not take effect.
  let returnsLeft = operations.filter(({ returnedAt }) => returnedAt !== undefined).length;
  while (returnsLeft > 0) {
    if (entry?.isCall) {
      const result = apply(value, entry.operation.action);
      if (result !== false && done.tryAdd(entry, result.value, tried)) {
        stack.push({ entry, valueBefore: value });
        value = result.value;
        unlink(entry);
        if (entry.returned !== undefined) returnsLeft--;
        entry = head.next;
      } else {
        entry = entry.next;
      }
      continue;
    }
    if (stack.length > best.explained) best = { explained: stack.length, value, stuck: callsBefore(head, entry) };
    const last = stack.pop();
    if (last === undefined) return { key, operations: operations.length, ...best };
    done.remove(last.entry);
    value = last.valueBefore;
    relink(last.entry);
    if (last.entry.returned !== undefined) returnsLeft++;
    entry = last.entry.next;
  }
  return undefined;
}

/** Links calls and returns in order of time. At the same time calls come first, so that such operations overlap. */
function link(operations: readonly HistoryOperation[]): Entry {
  const entries: Entry[] = [];
  const required = operations
    .filter(({ returnedAt }) => returnedAt !== undefined)
    .toSorted((a, b) => a.calledAt - b.calledAt);
  for (const [number, operation] of required.entries()) {
    const returned: Entry = { operation, number, isCall: false, previous: undefined, next: undefined };
    entries.push(returned, { operation, number, returned, isCall: true, previous: undefined, next: undefined });
  }
  const unknown = operations.filter(({ returnedAt, action }) => returnedAt === undefined && action.kind !== 'read');
  for (const [i, operation] of unknown.entries()) {
    entries.push({ operation, number: -1 - i, isCall: true, previous: undefined, next: undefined });
  }
  const time = ({ isCall, operation }: Entry): number =>
    isCall ? operation.calledAt : (operation.returnedAt ?? Number.POSITIVE_INFINITY);
  entries.sort((a, b) => time(a) - time(b) || Number(b.isCall) - Number(a.isCall));
  const [first] = operations;
  if (first === undefined) throw new RangeError('a key without operations');
  const head: Entry = { operation: first, number: Number.NaN, isCall: true, previous: undefined, next: undefined };
  let last = head;
  for (const entry of entries) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return head;
}

function unlink({ previous, next, returned }: Entry): void {
  if (previous !== undefined) previous.next = next;
  if (next !== undefined) next.previous = previous;
  if (returned !== undefined) unlink(returned);
}

function relink(entry: Entry): void {
  if (entry.returned !== undefined) relink(entry.returned);
  if (entry.previous !== undefined) entry.previous.next = entry;
  if (entry.next !== undefined) entry.next.previous = entry;
}

function callsBefore(head: Entry, end: Entry | undefined): HistoryOperation[] {
  const calls: HistoryOperation[] = [];
  for (let entry = head.next; entry !== end && entry !== undefined; entry = entry.next) calls.push(entry.operation);
  return calls;
}

interface DoneSet {
  /** Adds an operation unless the same set was reached with the same value before. */
  tryAdd(entry: Entry, value: Value, tried: Set<string>): boolean;
  remove(entry: Entry): void;
}

/**
 * The set of applied operations, with a short key for the memoization. The set is mostly a prefix of all operations and
 * a few more, so the key contains the length of the prefix and the numbers of the others. Operations with an unknown
 * outcome have negative numbers.
 */
function doneSet(): DoneSet {
  const beyond = new Set<number>();
  let first = 0;
  const name = (value: Value): string => `${first}|${[...beyond].sort((a, b) => a - b).join()}|${value}`;
  const remove = ({ number }: Entry): void => {
    if (beyond.delete(number)) return;
    for (let i = number + 1; i < first; i++) beyond.add(i);
    first = number;
  };
  return {
    remove,
    tryAdd(entry, value, tried) {
      beyond.add(entry.number);
      while (beyond.delete(first)) first++;
      const key = name(value);
      if (tried.has(key)) {
        remove(entry);
        return false;
      }
      tried.add(key);
      return true;
    },
  };
}
