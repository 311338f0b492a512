/** Opens states for tests and dumps their tables for comparison. */
import { type Clock, systemClock } from '../../../src/state/clock/clock.ts';
import type { Engine } from '../../../src/state/engine/engine.ts';
import { type MemoryCapacity, UNLIMITED_MEMORY } from '../../../src/state/memory/memory-capacity.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { State } from '../../../src/state/state.ts';
import type { Schema } from '../../../src/state/table.ts';
import { testSchema } from './tables.ts';

/** Settings of a test state. Every missing one has a default. */
export interface TestStateSettings {
  readonly schema?: Schema;
  readonly node?: string;
  readonly clock?: Clock;
  readonly rowsMax?: number;
  readonly memory?: MemoryCapacity;
  readonly log?: (level: string, message: string, fields?: Record<string, unknown>) => void;
}

/** Opens and loads a state on `engine`. Disposing it closes the engine. */
export function openState(engine: Engine, settings: TestStateSettings = {}): Promise<State> {
  const {
    schema = testSchema,
    node = 'a',
    clock = systemClock,
    rowsMax = 1_000_000,
    memory = UNLIMITED_MEMORY,
  } = settings;
  const { log = () => undefined } = settings;
  return State.open({ engine, schema, node, clock, rowsMax, memory, log });
}

/**
 * All B-trees of a snapshot, orphaned and expired rows included: table → key → row, and `table index` → entry → key.
 */
export type StateDump = Record<string, Record<string, unknown>>;

/** Dumps a snapshot to plain values. Two states with the same content give deeply equal dumps. */
export function dumpState(snapshot: Snapshot): StateDump {
  const result: StateDump = {};
  for (const [table, trees] of snapshot.tables) {
    result[table.name] = Object.fromEntries(trees.rows.entries());
    for (const { name, position } of table.indexList) {
      result[`${table.name} ${name}`] = Object.fromEntries(trees.secondary[position]?.entries() ?? []);
    }
  }
  return result;
}
