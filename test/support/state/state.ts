/** States for tests, and pictures of them that can be compared. */
import { type Clock, systemClock } from '../../../src/state/clock/clock.ts';
import type { Engine } from '../../../src/state/engine/engine.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { State } from '../../../src/state/state.ts';
import type { Schema } from '../../../src/state/table.ts';
import { testSchema } from './tables.ts';

/** What a test changes. */
export interface TestStateSettings {
  readonly schema?: Schema;
  readonly node?: string;
  readonly clock?: Clock;
  readonly rowsMax?: number;
  readonly log?: (level: string, message: string, fields?: Record<string, unknown>) => void;
}

/** A loaded state on `engine`; disposing it closes the engine. */
export function openState(engine: Engine, settings: TestStateSettings = {}): Promise<State> {
  const { schema = testSchema, node = 'a', clock = systemClock, rowsMax = 1_000_000, log = () => undefined } = settings;
  return State.open({ engine, schema, node, clock, rowsMax, log });
}

/** Everything that stands in the trees, dead rows included: `table` → key → row, `table index` → entry → key. */
export type Picture = Record<string, Record<string, unknown>>;

/** The trees of a snapshot as plain values; two states that hold the same give pictures that are deeply equal. */
export function picture(snapshot: Snapshot): Picture {
  const result: Picture = {};
  for (const [table, trees] of snapshot.trees) {
    result[table.name] = Object.fromEntries(trees.rows.entries());
    for (const { name, position } of table.indexList) {
      result[`${table.name} ${name}`] = Object.fromEntries(trees.indexes[position]?.entries() ?? []);
    }
  }
  return result;
}
