/** What a write works with. */
import type { Reader } from '../memory/reader.ts';
import type { AnyTable, DeepReadonly, Stored, Table } from '../table.ts';

/** What a write function sees: reads of the batch so far, and changes to it. */
export interface Transaction extends Reader {
  /** Milliseconds since 1970, the same whenever the write is run again. */
  readonly now: number;
  /** The index that this commit will have. */
  readonly index: number;
  /** Operations in the batch so far: together with `index` it names an append that no other has, in order. */
  readonly position: number;
  /** What `make` gave in the first run of this write: for ids and other randomness, called in the same order each run. */
  once<T>(make: () => T): T;
  /** Creates or replaces a row. @throws Error when an owner does not exist, UniqueError; both mistakes of the caller */
  put<Row>(table: Table<Row, string>, row: DeepReadonly<Row>): Stored<Row>;
  /** Removes the row under `key`, and with it everything that it owns. @returns whether it was there */
  delete<Row>(table: Table<Row, string>, key: string): boolean;
  /** Adds a row to a store-only table. */
  append<Row>(table: Table<Row, string>, row: DeepReadonly<Row>): void;
  /** Removes up to `limit` rows that are past their expiry. @returns them */
  expire<Row>(table: Table<Row, string>, limit: number): Stored<Row>[];
  /** Removes a key from the store that no row in memory stands for; does nothing if one does again. */
  purge(table: AnyTable, key: string): void;
}

/** Values that a write fixed in its first run. */
export interface Fixed {
  now: number | undefined;
  readonly values: unknown[];
}
