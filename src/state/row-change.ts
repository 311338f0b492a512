import type { AnyTable, Stored } from './table.ts';

/** The effect of one commit on one row. `undefined` stands for a missing row. */
export interface RowChange {
  readonly table: AnyTable;
  readonly key: string;
  readonly before: Stored<unknown> | undefined;
  readonly after: Stored<unknown> | undefined;
}
