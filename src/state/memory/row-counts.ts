/**
 * The number of rows below each holder, such as the rows of an organization. A table declares its holders with
 * `countsToward`. Quotas compare these numbers in every write.
 *
 * A count covers a whole subtree: a member counts for its team, and the team with its members for its organization.
 * Counts are derived from the rows in memory, so a load restores them and they cannot drift:
 *
 *     count(holder) = sum over the rows that count toward it of (1 + count(row))
 *
 * A count exists whether or not its holder does. Removing a holder therefore takes its whole subtree from the counts
 * above at once, and dropping its orphans later changes no count above.
 */
import { nextTurn } from '../clock/next-turn.ts';
import { SLICE_ROWS } from '../limits.ts';
import type { AnyTable, Schema, Stored } from '../table.ts';
import { BTree } from './b-tree.ts';

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
    before: Stored<unknown> | undefined,
    after: Stored<unknown> | undefined,
    find: FindHolder,
    onChange?: (table: AnyTable, key: string, previous: number) => void,
  ): void {
    if (!changesHolder(table, before, after)) return;
    const weight = 1 + this.get(table, key);
    if (before !== undefined) this.#add(holderOf(table, before), -weight, find, onChange);
    if (after !== undefined) this.#add(holderOf(table, after), weight, find, onChange);
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
        sum.set(holder.key, (sum.get(holder.key) ?? 0) + 1 + (own?.get(key) ?? 0));
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
export function changesHolder(
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
