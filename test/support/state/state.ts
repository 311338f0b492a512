/** Opens states for tests and dumps their tables for comparison. */

import type { Rate } from '../../../src/budget/rate.ts';
import { type Clock, systemClock } from '../../../src/state/clock/clock.ts';
import type { Engine } from '../../../src/state/engine/engine.ts';
import { type MemoryCapacity, UNLIMITED_MEMORY } from '../../../src/state/memory/memory-capacity.ts';
import { rowUnits } from '../../../src/state/memory/row-counts.ts';
import { rowBytes } from '../../../src/state/memory/row-size.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { State } from '../../../src/state/state.ts';
import type { AnyTable, Schema, Stored } from '../../../src/state/table.ts';
import type { RowQuota } from '../../../src/state/write/admission.ts';
import { testSchema } from './tables.ts';

/** Settings of a test state. Every missing one has a default. */
export interface TestStateSettings {
  readonly schema?: Schema;
  readonly node?: string;
  readonly clock?: Clock;
  readonly rowsMax?: number;
  readonly quotas?: readonly RowQuota[];
  readonly writeRate?: Rate;
  readonly memory?: MemoryCapacity;
  readonly log?: (level: string, message: string, fields?: Record<string, unknown>) => void;
}

/** Opens and loads a state on `engine`. Disposing it closes the engine. */
export function openState(engine: Engine, settings: TestStateSettings = {}): Promise<State> {
  const defaults = { schema: testSchema, node: 'a', clock: systemClock, rowsMax: 1_000_000, log: () => undefined };
  return State.open({ engine, memory: UNLIMITED_MEMORY, ...defaults, ...settings });
}

/**
 * All B-trees of a snapshot, orphaned and expired rows included: table → key → row, `table index` → entry → key, and
 * `counts table` → holder → rows.
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
    result[`counts ${table.name}`] = Object.fromEntries(snapshot.rowCounts.entries(table));
  }
  return result;
}

/** Counts the rows below every holder by walking up from each row. For comparison with `snapshot.rowCounts`. */
export function countByWalking({ tables }: Snapshot): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {};
  for (const [table] of tables) counts[`counts ${table.name}`] = {};
  for (const [table, { rows }] of tables) {
    for (const [key, stored] of rows.entries()) {
      let holder = holderOf(table, stored);
      while (holder !== undefined) {
        const ofTable = counts[`counts ${holder.table.name}`] as Record<string, number>;
        ofTable[holder.key] = (ofTable[holder.key] ?? 0) + rowUnits(rowBytes(table, key, stored));
        const row = tables.get(holder.table)?.rows.get(holder.key);
        holder = row === undefined ? undefined : holderOf(holder.table, row);
      }
    }
  }
  return counts;
}

function holderOf(
  { countsToward = [] }: AnyTable,
  { row }: Stored<unknown>,
): { table: AnyTable; key: string } | undefined {
  for (const { table, key } of countsToward) {
    const holder = key(row);
    if (holder !== undefined) return { table, key: holder };
  }
  return undefined;
}
