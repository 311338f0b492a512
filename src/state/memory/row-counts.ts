/**
 * The number of rows below each holder, such as the rows of an organization. A table declares its holders with
 * `countsToward`. Quotas compare these numbers in every write. A large row counts as several, because otherwise a holder
 * could fill the memory with few rows.
 *
 * A count covers a whole subtree: a member counts for its team, and the team with its members for its organization.
 * Counts are derived from the rows in memory, so a load restores them and they cannot drift:
 *
 *     count(holder) = sum over the rows that count toward it of (units(row) + count(row))
 *
 * A count exists whether or not its holder does. Removing a holder therefore takes its whole subtree from the counts
 * above at once, and dropping its orphans later changes no count above.
 */
import { nextTurn } from '../clock/next-turn.ts';
import { COUNTED_ROW_BYTES, SLICE_ROWS } from '../limits.ts';
import type { AnyTable, Schema, Stored } from '../table.ts';
import { BTree } from './b-tree.ts';
import { rowBytes } from './row-size.ts';
import type { RowReplacement } from './table-indexes.ts';

/** Returns how often a row counts: once for each started COUNTED_ROW_BYTES of its estimated memory. */
export const rowUnits = (bytes: number): number => Math.ceil(bytes / COUNTED_ROW_BYTES);

/** Returns the row of a holder, or `undefined` if it is missing. */
export type FindHolder = (table: AnyTable, key: string) => Stored<unknown> | undefined;

interface Holder {
  readonly table: AnyTable;
  readonly key: string;
}

/** Counts by holder. Copy-on-write: cloning takes constant time. */
export class RowCounts {
  readonly #byTable: Map<AnyTable, BTree<number>>;

  private constructor(byTable: Map<AnyTable, BTree<number>>) {
    this.#byTable = byTable;
  }

  static empty(): RowCounts {
    return new RowCounts(new Map());
  }

  clone(): RowCounts {
    return new RowCounts(new Map([...this.#byTable].map(([table, counts]) => [table, counts.clone()])));
  }

  get(table: AnyTable, key: string): number {
    return this.#byTable.get(table)?.get(key) ?? 0;
  }

  /** Returns the counts of all holders of a table that are not 0, in the order of their keys. */
  entries(table: AnyTable): Iterable<readonly [string, number]> {
    return this.#byTable.get(table)?.entries() ?? [];
  }

  set(table: AnyTable, key: string, count: number): void {
    let counts = this.#byTable.get(table);
    if (counts === undefined) {
      counts = BTree.empty();
      this.#byTable.set(table, counts);
    }
    if (count === 0) counts.delete(key);
    else counts.set(key, count);
  }

  /**
   * Counts the replacement of one row.
   * @param find reads the rows of other tables as they are now
   * @param onChange is called with every count before it changes
   */
  replace(
    table: AnyTable,
    key: string,
    { previous, next, previousBytes, nextBytes }: RowReplacement,
    find: FindHolder,
    onChange?: (table: AnyTable, key: string, previous: number) => void,
  ): void {
    if (!changesHolder(table, previous, next)) {
      const added = rowUnits(nextBytes) - rowUnits(previousBytes);
      if (next !== undefined && added !== 0) this.#add(holderOf(table, next), added, find, onChange);
      return;
    }
    const below = this.get(table, key);
    if (previous !== undefined) {
      this.#add(holderOf(table, previous), -(rowUnits(previousBytes) + below), find, onChange);
    }
    if (next !== undefined) this.#add(holderOf(table, next), rowUnits(nextBytes) + below, find, onChange);
  }

  #add(
    lowest: Holder | undefined,
    weight: number,
    find: FindHolder,
    onChange: ((table: AnyTable, key: string, previous: number) => void) | undefined,
  ): void {
    for (let holder = lowest; holder !== undefined; ) {
      const { table, key } = holder;
      const previous = this.get(table, key);
      onChange?.(table, key, previous);
      this.set(table, key, previous + weight);
      const row = table.countsToward === undefined ? undefined : find(table, key);
      holder = row === undefined ? undefined : holderOf(table, row);
    }
  }
}

/** Counts all rows of a loaded state, in slices. @param rowsOf returns the primary index of a table */
export async function countRows(
  schema: Schema,
  rowsOf: (table: AnyTable) => BTree<Stored<unknown>>,
): Promise<RowCounts> {
  const counts = RowCounts.empty();
  const sums = new Map<AnyTable, Map<string, number>>();
  let examined = 0;
  // Tables follow their holders in the schema, so in reverse order every subtree is complete before it is added.
  for (const table of schema.tables.toReversed()) {
    if (table.countsToward === undefined) continue;
    const own = sums.get(table);
    for (const [key, stored] of rowsOf(table).entries()) {
      const holder = holderOf(table, stored);
      if (holder !== undefined) {
        const sum = sums.getOrInsertComputed(holder.table, () => new Map<string, number>());
        const units = rowUnits(rowBytes(table, key, stored));
        sum.set(holder.key, (sum.get(holder.key) ?? 0) + units + (own?.get(key) ?? 0));
      }
      if (++examined % SLICE_ROWS === 0) await nextTurn();
    }
  }
  for (const [table, sum] of sums) {
    for (const [key, count] of sum) {
      counts.set(table, key, count);
      if (++examined % SLICE_ROWS === 0) await nextTurn();
    }
  }
  return counts;
}

/** Whether the replacement of a row changes any count. */
export function changesCounts(table: AnyTable, { previous, next, previousBytes, nextBytes }: RowReplacement): boolean {
  if (table.countsToward === undefined) return false;
  return rowUnits(previousBytes) !== rowUnits(nextBytes) || changesHolder(table, previous, next);
}

function changesHolder(
  { countsToward }: AnyTable,
  before: Stored<unknown> | undefined,
  after: Stored<unknown> | undefined,
): boolean {
  if (countsToward === undefined) return false;
  if (before === undefined || after === undefined) return before !== after;
  return countsToward.some(({ key }) => key(before.row) !== key(after.row));
}

/** Returns the first holder that a row names. */
function holderOf({ countsToward = [] }: AnyTable, { row }: Stored<unknown>): Holder | undefined {
  for (const { table, key } of countsToward) {
    const holderKey = key(row);
    if (holderKey !== undefined) return { table, key: holderKey };
  }
  return undefined;
}
