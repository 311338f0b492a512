import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Counter, counters, type Organization, organizations } from '../../../test/support/state/tables.ts';
import type { AnyTable, Stored } from '../table.ts';
import { rowBytes } from './row-size.ts';
import {
  buildPrimaryIndex,
  buildSecondaryIndex,
  cloneTableIndexes,
  emptyTableIndexes,
  setRow,
  type TableIndexes,
  UniqueError,
} from './table-indexes.ts';

const stored = <Row>(row: Row): Stored<Row> => ({ row, createIndex: 1, modifyIndex: 1 }) as Stored<Row>;
const counter = (id: string, value: number): Stored<Counter> => stored({ id, value, partition: `p${value % 3}` });

/** The contents of all indexes as plain values. */
const plain = (table: AnyTable, indexes: TableIndexes): unknown => [
  [...indexes.rows.entries()],
  ...table.indexList.map(({ position }) => [...(indexes.secondary[position]?.entries() ?? [])]),
];

describe('table indexes', () => {
  it('equal indexes rebuilt from the remaining rows after any changes [STATE-19] [STATE-22]', () => {
    const change = fc.record({ key: fc.constantFrom('a', 'b', 'é', '\uffff', '😀', '~'), value: fc.option(fc.nat(8)) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const indexes = emptyTableIndexes(counters);
        const rows = new Map<string, Stored<Counter>>();
        for (const { key, value } of changes) {
          const next = value === null ? undefined : counter(key, value);
          const bytesOf = (stored: Stored<Counter> | undefined): number =>
            stored === undefined ? 0 : rowBytes(counters, key, stored);
          const previous = rows.get(key);
          assert.deepEqual(setRow(counters, indexes, key, next), {
            ...{ previous, next },
            ...{ previousBytes: bytesOf(previous), nextBytes: bytesOf(next) },
          });
          if (next === undefined) rows.delete(key);
          else rows.set(key, next);
        }
        // As a store delivers them: in byte order, which differs from JavaScript's order.
        const keys = [...rows.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const loaded = { keys, rows: keys.map((key) => rows.get(key) as Stored<unknown>) };
        const built = {
          rows: buildPrimaryIndex(loaded),
          secondary: (counters as AnyTable).indexList.map((index) => buildSecondaryIndex(index, loaded)),
          bytes: keys.reduce((sum, key) => sum + rowBytes(counters, key, rows.get(key) as Stored<unknown>), 0),
        };
        assert.deepEqual(plain(counters, indexes), plain(counters, built));
        assert.equal(indexes.bytes, built.bytes);
      }),
    );
  });

  it('do not change when a clone changes', () => {
    const original = emptyTableIndexes(counters);
    for (let i = 0; i < 500; i++) setRow(counters, original, `k${i}`, counter(`k${i}`, i));
    const before = plain(counters, original);
    const clone = cloneTableIndexes(original);
    for (let i = 0; i < 500; i += 2)
      setRow(counters, clone, `k${i}`, i % 4 === 0 ? undefined : counter(`k${i}`, i + 1));
    assert.deepEqual(plain(counters, original), before);
    const other = cloneTableIndexes(original);
    setRow(counters, other, 'k1', undefined);
    assert.equal(clone.rows.get('k1')?.modifyIndex, 1, 'a clone is unaffected by another clone');
  });

  it('stay unchanged when another row has the unique entry [STATE-20]', () => {
    const indexes = emptyTableIndexes(organizations);
    const organization = (id: string, name: string): Stored<Organization> => stored({ id, name });
    setRow(organizations, indexes, '1', organization('1', 'red'));
    setRow(organizations, indexes, '2', organization('2', 'blue'));
    const before = plain(organizations, indexes);
    assert.throws(() => setRow(organizations, indexes, '2', organization('2', 'red')), UniqueError);
    assert.throws(() => setRow(organizations, indexes, '3', organization('3', 'red'), () => false), UniqueError);
    assert.deepEqual(plain(organizations, indexes), before);
    setRow(organizations, indexes, '2', organization('2', 'blue'));
    assert.deepEqual(plain(organizations, indexes), before, 'a row does not conflict with itself');
  });
});
