/** Records the lookups of requests in the state: the method of the reader and the table. */
import type { Reader } from '../../../src/state/memory/reader.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { State } from '../../../src/state/state.ts';
import type { AnyTable } from '../../../src/state/table.ts';
import type { Transaction } from '../../../src/state/write/transaction.ts';
import type { WriteOptions } from '../../../src/state/write/write-queue.ts';

const LOOKUPS = ['get', 'find', 'list', 'all', 'first', 'count'] as const;

/** The lookups since the last `clear`, in reads and in writes. */
export interface RecordedLookups {
  /** Lookups such as `get teams`, sorted, because a caller that measures time cannot observe their order. */
  readonly all: () => readonly string[];
  readonly clear: () => void;
}

/** Records all later lookups in `state`. */
export function recordLookups(state: State): RecordedLookups {
  const seen: string[] = [];
  const counted = <Looked extends Reader>(reader: Looked): Looked =>
    new Proxy(reader, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (!(LOOKUPS as readonly unknown[]).includes(name) || typeof value !== 'function') return value;
        return (table: AnyTable, ...rest: readonly unknown[]): unknown => {
          seen.push(`${String(name)} ${table.name}`);
          return Reflect.apply(value, target, [table, ...rest]);
        };
      },
    });
  const write = state.write.bind(state);
  Object.defineProperties(state, {
    // The original getter reads private fields, so it needs the state itself as the receiver.
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
