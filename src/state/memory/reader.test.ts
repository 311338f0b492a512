import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Counter, counters, organizations, type Token, tokens, uses } from '../../../test/support/state/tables.ts';
import type { AnyTable, Stored } from '../table.ts';
import { createReader, type Reader } from './reader.ts';
import { emptyTableIndexes, setRow, type TableIndexes } from './table-indexes.ts';

const NOW = 1_000;

/** A reader of unvalidated rows. */
function readerOf(rows: readonly (readonly [AnyTable, object])[], mayHaveOrphans = false): Reader {
  const tables = new Map<AnyTable, TableIndexes>();
  const tableIndexes = (table: AnyTable): TableIndexes => {
    const indexes = tables.get(table) ?? emptyTableIndexes(table);
    tables.set(table, indexes);
    return indexes;
  };
  for (const [table, row] of rows) {
    setRow(table, tableIndexes(table), table.key(row), { row, createIndex: 1, modifyIndex: 1 } as Stored<unknown>);
  }
  return createReader({ tableIndexes, now: () => NOW, mayHaveOrphans: () => mayHaveOrphans });
}

const counter = (id: string, value: number, partition = 'p'): readonly [AnyTable, Counter] => [
  counters,
  { id, value, partition },
];
const ids = (rows: readonly Stored<{ readonly id: string }>[]): string[] => rows.map(({ row }) => row.id);

describe('reader', () => {
  it('lists rows in key order, in pages that start after an existing or missing key [STATE-22]', () => {
    const reader = readerOf(['c', 'a', 'e', 'b'].map((id) => counter(id, 1)));
    assert.deepEqual(ids(reader.all(counters)), ['a', 'b', 'c', 'e']);
    assert.deepEqual(ids(reader.all(counters, { after: 'b', limit: 1 })), ['c']);
    assert.deepEqual(ids(reader.all(counters, { after: 'd' })), ['e']);
    assert.deepEqual(ids(reader.all(counters, { limit: 0 })), []);
    assert.deepEqual(ids(reader.list(counters, 'partition', 'p', { after: 'a', limit: 2 })), ['b', 'c']);
    assert.deepEqual(ids(reader.list(counters, 'partition', 'p', { after: 'e' })), []);
  });

  it('distinguishes entries with a common prefix', () => {
    const reader = readerOf([counter('1', 1, 'a'), counter('2', 1, 'ab'), counter('3', 1, ''), counter('4', 1, 'a b')]);
    assert.deepEqual(ids(reader.list(counters, 'partition', 'a')), ['1']);
    assert.deepEqual(ids(reader.list(counters, 'partition', '')), ['3']);
    assert.deepEqual(ids(reader.list(counters, 'partition', 'b')), []);
  });

  it('omits rows without an entry from an index', () => {
    const reader = readerOf([counter('even', 2), counter('odd', 3)]);
    assert.deepEqual(ids(reader.list(counters, 'odd', 'odd')), ['odd']);
  });

  it('finds the first row of an index from an entry on, skipping expired rows', () => {
    const token = (id: string, hash: string, expiresAt?: number): readonly [AnyTable, Token] => [
      tokens,
      expiresAt === undefined ? { id, team: 't', hash } : { id, team: 't', hash, expiresAt },
    ];
    const reader = readerOf([token('1', 'a', NOW), token('2', 'b'), token('3', 'c', NOW + 1)]);
    assert.equal(reader.first(tokens, 'hash')?.row.id, '2');
    assert.equal(reader.first(tokens, 'hash', 'bb')?.row.id, '3');
    assert.equal(reader.first(tokens, 'hash', 'd'), undefined);
    assert.equal(reader.find(tokens, 'hash', 'a'), undefined);
    assert.equal(reader.get(tokens, '1'), undefined);
  });

  it('checks owners that can expire, and others only when there may be orphans [STATE-79]', () => {
    const rows: readonly (readonly [AnyTable, object])[] = [
      [tokens, { id: 'expired', team: 'missing', hash: 'a', expiresAt: NOW }],
      [tokens, { id: 'alive', team: 'missing', hash: 'b' }],
      [uses, { id: 'u1', token: 'expired' }],
      [uses, { id: 'u2', token: 'alive' }],
      [uses, { id: 'u3', token: 'never' }],
    ];
    assert.deepEqual(ids(readerOf(rows).all(uses)), ['u2']);
    assert.deepEqual(ids(readerOf(rows, true).all(uses)), [], 'the team of its token is missing');
  });

  it('throws for the wrong lookup of an index, naming the right one', () => {
    const reader = readerOf([]);
    assert.throws(() => reader.find(counters, 'partition', 'p'), /use list/);
    assert.throws(() => reader.list(organizations, 'name', 'n'), /use find/);
  });
});
