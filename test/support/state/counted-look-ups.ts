/** Writes down what requests look up in the state: which function of the reader, and in which table. */
import type { Reader } from '../../../src/state/memory/reader.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { State } from '../../../src/state/state.ts';
import type { AnyTable } from '../../../src/state/table.ts';
import type { Transaction } from '../../../src/state/write/transaction.ts';
import type { WriteOptions } from '../../../src/state/write/write-queue.ts';

const LOOK_UPS = ['get', 'find', 'list', 'all', 'first', 'count'] as const;

/** Every look-up since `clear`, in reads and in writes. */
export interface CountedLookUps {
  /** Such as `get teams`, sorted: whoever measures time cannot tell the order. */
  readonly all: () => readonly string[];
  readonly clear: () => void;
}

/** From now on the state tells what is looked up in it. */
export function countLookUps(state: State): CountedLookUps {
  const seen: string[] = [];
  const counted = <Looked extends Reader>(reader: Looked): Looked =>
    new Proxy(reader, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (!(LOOK_UPS as readonly unknown[]).includes(name) || typeof value !== 'function') return value;
        return (table: AnyTable, ...rest: readonly unknown[]): unknown => {
          seen.push(`${String(name)} ${table.name}`);
          return Reflect.apply(value, target, [table, ...rest]);
        };
      },
    });
  const write = state.write.bind(state);
  Object.defineProperties(state, {
    // The getter works on what only the state itself can reach.
    snapshot: { get: (): Snapshot => counted(Reflect.get(State.prototype, 'snapshot', state)) },
    write: {
      value: <T>(fn: (tx: Transaction) => T, options?: WriteOptions) => write((tx) => fn(counted(tx)), options),
    },
  });
  return {
    all: () => seen.toSorted(),
    clear() {
      seen.length = 0;
    },
  };
}
