/** Collects the damaged rows that an export skips. */
import type { Skipped, SkippedRows } from './export-format.ts';

/** Keys that are listed for one table, so that the last line of an export stays short. */
const KEYS_MAX = 20;

export class SkippedRowsList {
  readonly #byTable = new Map<string, SkippedRows>();

  add(table: string, key: string): void {
    const { count, keys } = this.#byTable.get(table) ?? { count: 0, keys: [] };
    this.#byTable.set(table, { count: count + 1, keys: keys.length < KEYS_MAX ? [...keys, key] : keys });
  }

  /** Notes that at least `count` rows of a table are missing, listed ones included. */
  addMissing(table: string, count: number): void {
    const listed = this.#byTable.get(table) ?? { count: 0, keys: [] };
    if (count > listed.count) this.#byTable.set(table, { ...listed, count });
  }

  /** Notes that the rows of a table behind some point cannot be read. */
  addUnreadable(table: string, reason: string): void {
    this.#byTable.set(table, { ...(this.#byTable.get(table) ?? { count: 1, keys: [] }), unreadable: reason });
  }

  /** Returns the rows by table, or `undefined`. */
  get all(): Skipped | undefined {
    return this.#byTable.size === 0 ? undefined : Object.fromEntries(this.#byTable);
  }
}
