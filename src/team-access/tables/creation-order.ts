/** The order of lists: that of creation. */
import type { Stored } from '../../state/table.ts';

/** Rows in the order in which they were made; those of one commit by their places in it. */
export const byCreation = <Row extends { readonly place: number }>(rows: readonly Stored<Row>[]): Stored<Row>[] =>
  rows.toSorted((a, b) => a.createIndex - b.createIndex || placeOf(a) - placeOf(b));

const placeOf = <Row extends { readonly place: number }>({ row }: Stored<Row>): number =>
  (row as { readonly place: number }).place;
