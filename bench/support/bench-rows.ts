/** A table with three indexes for the figures of the state, and its loads. */
import { systemClock } from '../../src/state/clock/clock.ts';
import type { Engine } from '../../src/state/engine/engine.ts';
import { State } from '../../src/state/state.ts';
import { defineSchema, defineTable } from '../../src/state/table.ts';

interface BenchRow {
  readonly id: string;
  readonly partition: string;
  readonly hash: string;
  readonly group: string;
  readonly text: string;
}

const benchRows = defineTable<BenchRow>()({
  name: 'things',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {
    partition: { entry: (row) => row.partition, watched: true },
    hash: { entry: (row) => row.hash, unique: true },
    group: { entry: (row) => row.group },
  },
});

/** Returns the row with a number. `version` changes only its text. */
function benchRow(number: number, version = 0): BenchRow {
  const id = `thing-${String(number).padStart(8, '0')}`;
  return {
    id,
    partition: `partition-${number % 10}`,
    hash: `hash-${(number * 2_654_435_761) % 4_294_967_296}-${number}`,
    group: `group-${number % 1_000}`,
    text: `version ${version} of a row that has the length of a typical record`,
  };
}

export function openBenchState(engine: Engine, node = 'bench'): Promise<State> {
  const schema = defineSchema([benchRows]);
  return State.open({ engine, schema, node, clock: systemClock, rowsMax: 5_000_000, log: () => undefined });
}

/**
 * Inserts the rows from `from` to `to` - 1, `perWrite` in each of `parallelism` parallel writes. @returns rows per
 * second
 */
export async function insertRows(
  state: State,
  from: number,
  to: number,
  perWrite: number,
  parallelism: number,
): Promise<number> {
  const start = performance.now();
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const first = next;
      next += perWrite;
      await state.write((tx) => {
        for (let i = first; i < Math.min(first + perWrite, to); i++) tx.put(benchRows, benchRow(i));
      });
    }
  };
  await Promise.all(Array.from({ length: parallelism }, worker));
  return ((to - from) / (performance.now() - start)) * 1_000;
}

/** Updates scattered rows, one in each of `parallelism` parallel writes. @returns writes per second */
export async function updateRows(state: State, rows: number, writes: number, parallelism: number): Promise<number> {
  const start = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (done < writes) {
      const version = ++done;
      await state.write((tx) => {
        tx.put(benchRows, benchRow((version * 7_919) % rows, version));
      });
    }
  };
  await Promise.all(Array.from({ length: parallelism }, worker));
  return (done / (performance.now() - start)) * 1_000;
}

/** Looks up scattered rows by key. @returns lookups per second */
export function readRows(state: State, rows: number, count: number): number {
  const keys = Array.from({ length: 1_000 }, (_, i) => benchRow((i * 104_729) % rows).id);
  const start = performance.now();
  let found = 0;
  for (let i = 0; i < count; i++) if (state.snapshot.get(benchRows, keys[i % keys.length] as string)) found++;
  if (found !== count) throw new Error(`${count - found} rows are missing`);
  return (count / (performance.now() - start)) * 1_000;
}
