import assert from 'node:assert/strict';
import { test } from 'node:test';
import { after, bytes, createKeys, type KeyRange, text } from './keys.ts';

const keys = createKeys('accord/', new Set(['audit']));

const isIn = (key: Uint8Array, { key: from, rangeEnd }: KeyRange): boolean =>
  Buffer.compare(key, from) >= 0 && Buffer.compare(key, rangeEnd) < 0;

test('what a key is made of can be read from it', () => {
  const row = { kind: 'row', generation: '0', table: 't', key: 'a/b//ü~' } as const;
  assert.deepEqual(keys.parse(keys.row('0', row)), row);
  assert.deepEqual(keys.parse(keys.row('0', { table: 'audit', key: '' })), { ...row, table: 'audit', key: '' });
  assert.deepEqual(keys.parse(keys.head), { kind: 'head' });
  assert.deepEqual(keys.parse(keys.writer('i')), { kind: 'writer', incarnation: 'i' });
  assert.deepEqual(keys.parse(keys.node('a/b')), { kind: 'node', name: 'a/b' });
  assert.deepEqual(keys.parse(keys.turn('ü')), { kind: 'turn', name: 'ü' });
  assert.deepEqual(keys.parse(keys.status('a/b', 's/1')), { kind: 'status', name: 'a/b', slot: 's/1' });
});

test('keys that others put below the prefix are nothing of ours, and no error', () => {
  assert.deepEqual(keys.parse(bytes('accord/foreign')), { kind: 'other' });
  assert.deepEqual(keys.parse(bytes('accord/gen/0')), { kind: 'other' });
  assert.deepEqual(keys.parse(bytes('accord/nodes/%')), { kind: 'node', name: '%' });
});

test('a load reads every row but those of store-only tables, and of no other generation', () => {
  const range = keys.loaded('1');
  assert.ok(isIn(keys.row('1', { table: 't', key: '' }), range));
  assert.ok(isIn(keys.row('1', { table: 'zz', key: '~' }), range));
  assert.ok(!isIn(keys.row('1', { table: 'audit', key: '1' }), range));
  assert.ok(!isIn(keys.row('10', { table: 't', key: '1' }), range));
  assert.ok(isIn(keys.row('1', { table: 'audit', key: '1' }), keys.generation('1')));
});

test('the range of a table ends before a table whose name goes on', () => {
  const range = keys.table('1', 't');
  assert.ok(isIn(keys.row('1', { table: 't', key: '\u{10ffff}' }), range));
  assert.ok(!isIn(keys.row('1', { table: 't2', key: '' }), range));
});

test('a row reader tells tables apart', () => {
  const read = keys.rowReader('1');
  const rows = [
    { table: 'a', key: 'x/y', value: '1' },
    { table: 'a', key: '', value: '2' },
    { table: 'ab', key: 'ü', value: '3' },
    { table: 'audit', key: 'k', value: '4' },
  ];
  assert.deepEqual(
    rows.map((row) => read(keys.row('1', row), bytes(row.value))),
    rows,
  );
});

test('the next start after a key is above it and below everything else', () => {
  const key = bytes('k');
  assert.equal(Buffer.compare(after(key), key), 1);
  assert.equal(text(after(key)), 'k\0');
});
