/** Clients that read and write the same few counters through a state and record a history of their operations. */
import { isStateError } from '../../../src/state/errors.ts';
import type { Reader } from '../../../src/state/memory/reader.ts';
import type { State } from '../../../src/state/state.ts';
import type { Transaction } from '../../../src/state/write/transaction.ts';
import type { Random } from '../random.ts';
import type { Action, HistoryOperation } from './history.ts';
import { counters } from './tables.ts';

/** Receives the outcome of an operation; `undefined` if it was certainly not made. */
export type Returned = (outcome: HistoryOperation | undefined) => void;

export interface WorkloadOptions {
  readonly state: State;
  readonly random: Random;
  /** Name of the clients in the history. */
  readonly process: string;
  readonly keys: readonly string[];
  readonly clients: number;
  /** Operations of each client. */
  readonly operations: number;
  /** Returns monotonic time from one clock for the whole history. */
  readonly now: () => number;
  /** Receives each operation before it starts, in the form to record if its outcome stays unknown. */
  readonly called: (operation: HistoryOperation) => Returned;
  /** Waits between two operations of a client. */
  readonly pause?: (random: Random) => Promise<void>;
  /** Ends each client after its current operation. */
  readonly signal?: AbortSignal;
  /** The first written value. Every later one is different. */
  readonly firstValue: number;
  /**
   * The last value that any client read or wrote, by key, shared by all nodes of one history. A node that is behind
   * then gets an expected value that it has not seen yet, and must not reject the swap for that reason.
   */
  readonly lastValues?: Map<string, number | undefined>;
}

/** Returns a recorder that adds each operation with its final outcome to `history`. */
export const recordIn =
  (history: HistoryOperation[]): WorkloadOptions['called'] =>
  () =>
  (outcome) => {
    if (outcome !== undefined) history.push(outcome);
  };

/** An operation, and the action to record if its outcome is unknown. */
interface Attempt {
  readonly unknown: Action;
  readonly run: () => Promise<Action>;
}

/** Runs all clients until they end. Rejects on an unexpected error and if the index of a client falls. */
export async function runClients(options: WorkloadOptions): Promise<void> {
  const lastValues = options.lastValues ?? new Map<string, number | undefined>();
  let lastValue = options.firstValue;
  const newValue = (): number => ++lastValue;
  const names = Array.from({ length: options.clients }, (_, number) => `${options.process}/${number}`);
  await Promise.all(names.map((name) => runClient(name, options, options.random.fork(), lastValues, newValue)));
}

async function runClient(
  name: string,
  { state, keys, operations, now, called, pause, signal }: WorkloadOptions,
  random: Random,
  lastValues: Map<string, number | undefined>,
  newValue: () => number,
): Promise<void> {
  let index = 0;
  for (let i = 0; i < operations && !signal?.aborted; i++) {
    const key = random.pick(keys);
    const expected = random.chance(0.5) && lastValues.has(key) ? lastValues.get(key) : current(state.snapshot, key);
    const { unknown, run } = random.pick(ATTEMPTS)({
      state,
      key,
      expected,
      value: newValue(),
      throws: random.chance(0.3),
    });
    const call = { process: name, key, calledAt: now(), returnedAt: undefined, action: unknown };
    const returned = called(call);
    const action = await outcome(run, unknown);
    if (action !== undefined) lastValues.set(key, action.value);
    returned(action === undefined || action === unknown ? action && call : { ...call, returnedAt: now(), action });
    const { snapshot } = state;
    if (snapshot.index < index) throw new Error(`the index that ${name} saw fell from ${index} to ${snapshot.index}`);
    index = snapshot.index;
    await pause?.(random);
  }
}

/** Runs an operation. Returns `undefined` if it was certainly not made. */
async function outcome(run: Attempt['run'], unknown: Action): Promise<Action | undefined> {
  try {
    return await run();
  } catch (error) {
    if (isStateError(error, 'outcome-unknown')) return unknown;
    if (isStateError(error, 'unavailable', 'overloaded', 'aborted', 'full')) return undefined;
    throw error;
  }
}

const current = (from: Pick<Reader, 'get'>, key: string): number | undefined => from.get(counters, key)?.row.value;

const put = (tx: Transaction, key: string, value: number): void =>
  void tx.put(counters, { id: key, value, partition: 'p' });

interface Parameters {
  readonly state: State;
  readonly key: string;
  readonly value: number;
  readonly expected: number | undefined;
  /** Whether a mismatch throws instead of returning false. */
  readonly throws: boolean;
}

function readAttempt({ state, key }: Parameters): Attempt {
  return {
    unknown: { kind: 'read', value: undefined },
    async run() {
      await state.consistent();
      return { kind: 'read', value: current(state.snapshot, key) };
    },
  };
}

function writeAttempt({ state, key, value }: Parameters): Attempt {
  return {
    unknown: { kind: 'write', value },
    async run() {
      await state.write((tx) => put(tx, key, value));
      return { kind: 'write', value };
    },
  };
}

function addAttempt({ state, key }: Parameters): Attempt {
  return {
    unknown: { kind: 'add', value: undefined },
    async run() {
      const sum = await state.write((tx) => {
        const next = (current(tx, key) ?? 0) + 1;
        put(tx, key, next);
        return next;
      });
      return { kind: 'add', value: sum };
    },
  };
}

/** The error with which a write function rejects its write. */
class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** A mismatch throws or returns false, because both are outcomes of a batch. */
function swapAttempt({ state, key, value, expected, throws }: Parameters): Attempt {
  const swap = (tx: Transaction): boolean => {
    if (current(tx, key) === expected) {
      put(tx, key, value);
      return true;
    }
    if (throws) throw new Mismatch(key);
    return false;
  };
  return {
    unknown: { kind: 'swap', expected, value, done: undefined },
    async run() {
      try {
        return { kind: 'swap', expected, value, done: await state.write(swap) };
      } catch (error) {
        if (error instanceof Mismatch) return { kind: 'swap', expected, value, done: false };
        throw error;
      }
    },
  };
}

const ATTEMPTS = [readAttempt, writeAttempt, addAttempt, swapAttempt] as const;
