import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Counter, counters, type Organization, organizations } from '../../../test/support/state/tables.ts';
import type { AnyTable, Stored } from '../table.ts';
import {
  assign,
  buildIndexTree,
  buildRowTree,
  cloneTrees,
  emptyTrees,
  type TableTrees,
  UniqueError,
} from './table-indexes.ts';

const stored = <Row>(row: Row): Stored<Row> => ({ row, createIndex: 1, modifyIndex: 1 }) as Stored<Row>;
const counter = (id: string, value: number): Stored<Counter> => stored({ id, value, partition: `p${value % 3}` });

/** All trees as plain values. */
const plain = (table: AnyTable, trees: TableTrees): unknown => [
  [...trees.rows.entries()],
  ...table.indexList.map(({ position }) => [...(trees.indexes[position]?.entries() ?? [])]),
];

describe('trees', () => {
  it('hold after any changes what is built of the rows that are left', () => {
    const change = fc.record({ key: fc.constantFrom('a', 'b', 'é', '\uffff', '😀', '~'), value: fc.option(fc.nat(8)) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const trees = emptyTrees(counters);
        const rows = new Map<string, Stored<Counter>>();
        for (const { key, value } of changes) {
          const next = value === null ? undefined : counter(key, value);
          assert.equal(assign(counters, trees, key, next), rows.get(key), 'it tells what was there');
          if (next === undefined) rows.delete(key);
          else rows.set(key, next);
        }
        // As a store delivers them: in the order of bytes, which is not that of JavaScript.
        const keys = [...rows.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const loaded = { keys, rows: keys.map((key) => rows.get(key) as Stored<unknown>) };
        const built = {
          rows: buildRowTree(loaded),
          indexes: (counters as AnyTable).indexList.map((index) => buildIndexTree(index, loaded)),
        };
        assert.deepEqual(plain(counters, trees), plain(counters, built));
      }),
    );
  });

  it('that were cloned are not changed by changes of the clone', () => {
    const original = emptyTrees(counters);
    for (let i = 0; i < 500; i++) assign(counters, original, `k${i}`, counter(`k${i}`, i));
    const before = plain(counters, original);
    const clone = cloneTrees(original);
    for (let i = 0; i < 500; i += 2)
      assign(counters, clone, `k${i}`, i % 4 === 0 ? undefined : counter(`k${i}`, i + 1));
    assert.deepEqual(plain(counters, original), before);
    const other = cloneTrees(original);
    assign(counters, other, 'k1', undefined);
    assert.equal(clone.rows.get('k1')?.modifyIndex, 1, 'clones do not see each other');
  });

  it('change nothing when an entry is taken', () => {
    const trees = emptyTrees(organizations);
    const organization = (id: string, name: string): Stored<Organization> => stored({ id, name });
    assign(organizations, trees, '1', organization('1', 'red'));
    assign(organizations, trees, '2', organization('2', 'blue'));
    const before = plain(organizations, trees);
    assert.throws(() => assign(organizations, trees, '2', organization('2', 'red')), UniqueError);
    assert.throws(() => assign(organizations, trees, '3', organization('3', 'red'), () => false), UniqueError);
    assert.deepEqual(plain(organizations, trees), before);
    assign(organizations, trees, '2', organization('2', 'blue'));
    assert.deepEqual(plain(organizations, trees), before, 'its own entry is not taken');
  });
});
