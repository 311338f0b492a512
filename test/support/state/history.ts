/**
 * Whether a history of concurrent operations is linearizable: whether each operation can be thought to happen at one
 * moment between its call and its return, so that the results are those of one thread doing them in that order.
 *
 * The search is Wing and Gong's with Lowe's memoization: take any operation that was called before the first return
 * among those left, see whether the register allows its result, go on with the rest; go back where nothing fits, and
 * never try again what was tried: the same operations done, the same value. Keys are registers of their own and are
 * checked one by one, which is what makes thousands of operations a matter of milliseconds.
 *
 * An operation whose outcome nobody knows may have happened at any time after its call, or never.
 */

/** What was done to a register, and what it said. `undefined` is the value of one that was never written. */
export type Action =
  | { readonly kind: 'read'; readonly value: number | undefined }
  | { readonly kind: 'write'; readonly value: number }
  /** Set to `value` if it was `expected`; `done` says whether it was (`undefined`: not known). */
  | {
      readonly kind: 'swap';
      readonly expected: number | undefined;
      readonly value: number;
      readonly done: boolean | undefined;
    }
  /** Added one; `value` is the sum (`undefined`: not known). */
  | { readonly kind: 'add'; readonly value: number | undefined };

/** One operation of a history; times are of one monotonic clock. */
export interface HistoryOperation {
  readonly process: string;
  readonly key: string;
  readonly calledAt: number;
  /** `undefined`: its outcome is not known. */
  readonly returnedAt: number | undefined;
  readonly action: Action;
}

/** A key whose operations no order explains, and how far the best attempt came. */
export interface Violation {
  readonly key: string;
  /** Operations in the longest order found. */
  readonly explained: number;
  readonly operations: number;
  /** What could not follow then, in the order of calls, and the value of the register. */
  readonly value: number | undefined;
  readonly stuck: readonly HistoryOperation[];
}

/** Finds the keys whose histories are not linearizable; none is what a test wants. */
export function findViolations(history: readonly HistoryOperation[]): Violation[] {
  const violations: Violation[] = [];
  for (const [key, operations] of Map.groupBy(history, (operation) => operation.key)) {
    const violation = checkKey(key, operations);
    if (violation !== undefined) violations.push(violation);
  }
  return violations;
}

/** For the message of a failed test. */
export function describeViolation({ key, explained, operations, value, stuck }: Violation): string {
  const lines = stuck.map(
    ({ process, calledAt, returnedAt, action }) =>
      `  ${process} ${calledAt}–${returnedAt ?? '?'} ${JSON.stringify(action)}`,
  );
  return [
    `'${key}': ${explained} of ${operations} operations fit; it is ${value} then, and none of these can follow:`,
    ...lines,
  ].join('\n');
}

type Value = number | undefined;

/** The value after an action, or `false` where the register does not allow the result. */
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

/** An event in a doubly linked list; a call knows its return, and both know their operation. */
interface Entry {
  readonly operation: HistoryOperation;
  readonly number: number;
  /** Of a call: its return, absent when the outcome is not known. */
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
  // What is left without a return may never have happened.
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

/** Calls and returns in the order of time; at the same time calls come first, so that such operations overlap. */
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
 * The operations that are done, with a short name: nearly always they are the first ones and a few more, so it is
 * named by how many of the first ones and which more. Those without a known outcome are named apart.
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
