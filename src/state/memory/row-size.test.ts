import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type AnyTable, defineTable } from '../table.ts';
import { rowBytes } from './row-size.ts';
import { emptyTableIndexes, setRow, type TableIndexes } from './table-indexes.ts';

interface Row {
  readonly id: string;
  readonly name?: string;
  readonly value?: unknown;
}

const rows = defineTable<Row>()({
  name: 'rows',
  key: ({ id }) => id,
  formats: { version: 1 },
  indexes: { name: { entry: ({ name }) => name }, unique: { entry: ({ name }) => name && `u/${name}`, unique: true } },
}) as AnyTable;

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Rows that take much more memory than their JSON text, or exactly as much. */
const KINDS: Readonly<Record<string, { readonly count: number; readonly row: (i: number) => Omit<Row, 'id'> }>> = {
  'a long text': { count: 200, row: (i) => ({ value: `${i}`.padEnd(31_000, 'x') }) },
  'a long text with two bytes a character': { count: 100, row: (i) => ({ value: `ā${i}`.padEnd(31_000, 'x') }) },
  'many empty objects': { count: 60, row: () => ({ value: times(1_000, () => ({})) }) },
  'many small integers': { count: 200, row: () => ({ value: times(1_000, (k) => k) }) },
  'a map with one name of its own': { count: 5_000, row: (i) => ({ value: { [`name${i}`]: 1 } }) },
  'a map with many names of its own': {
    count: 500,
    row: (i) => ({ value: Object.fromEntries(times(64, (k) => [`name${i}-${k}`, `value ${k} of ${i}`])) }),
  },
  'short texts': { count: 500, row: (i) => ({ value: times(64, (k) => `${i}.${k}`) }) },
  'index entries': { count: 10_000, row: (i) => ({ name: `name ${i}` }) },
};

/** Collects garbage and returns the used heap. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

function fill(count: number, row: (i: number) => Omit<Row, 'id'>): TableIndexes {
  const indexes = emptyTableIndexes(rows);
  for (let i = 0; i < count; i++) {
    const id = `${(i * 7_919) % count}`.padStart(20, '0');
    const parsed = JSON.parse(JSON.stringify({ id, ...row(i) })) as Row;
    setRow(rows, indexes, id, { row: parsed, createIndex: i, modifyIndex: i });
  }
  return indexes;
}

describe('rowBytes', () => {
  for (const [kind, { count, row }] of Object.entries(KINDS)) {
    it(`estimates at least the memory of rows with ${kind}, and at most half more [STATE-113]`, () => {
      const before = usedHeap();
      const indexes = fill(count, row);
      const used = usedHeap() - before;
      const share = indexes.bytes / used;
      assert.ok(share > 0.93 && share < 1.5, `${indexes.bytes} estimated, ${used} used`);
    });
  }

  it('returns what a row added when it leaves', () => {
    const indexes = fill(100, KINDS['index entries']?.row ?? (() => ({})));
    const [[key = '', stored] = []] = [...indexes.rows.entries()];
    assert.ok(stored !== undefined);
    const size = rowBytes(rows, key, stored);
    const before = indexes.bytes;
    setRow(rows, indexes, key, undefined);
    assert.equal(indexes.bytes, before - size);
    for (const [other] of [...indexes.rows.entries()]) setRow(rows, indexes, other, undefined);
    assert.equal(indexes.bytes, 0);
  });
});
