import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeys, decodeUtf8, encodeUtf8, type KeyRange, keyAfter } from './keys.ts';

const keys = createKeys('accord/', new Set(['audit']));

const isIn = (key: Uint8Array, { key: from, rangeEnd }: KeyRange): boolean =>
  Buffer.compare(key, from) >= 0 && Buffer.compare(key, rangeEnd) < 0;

test('parse returns the parts of every kind of key [ETCD-16]', () => {
  const row = { kind: 'row', generation: '0', table: 't', key: 'a/b//ü~' } as const;
  assert.deepEqual(keys.parse(keys.row('0', row)), row);
  assert.deepEqual(keys.parse(keys.row('0', { table: 'audit', key: '' })), { ...row, table: 'audit', key: '' });
  assert.deepEqual(keys.parse(keys.head), { kind: 'head' });
  assert.deepEqual(keys.parse(keys.writer('i')), { kind: 'writer', incarnation: 'i' });
  assert.deepEqual(keys.parse(keys.node('a/b')), { kind: 'node', name: 'a/b' });
  assert.deepEqual(keys.parse(keys.ticket('ü')), { kind: 'ticket', name: 'ü' });
  assert.deepEqual(keys.parse(keys.status('a/b', 's/1')), { kind: 'status', name: 'a/b', slot: 's/1' });
});

test('parse accepts foreign keys below the prefix [ETCD-15]', () => {
  assert.deepEqual(keys.parse(encodeUtf8('accord/foreign')), { kind: 'other' });
  assert.deepEqual(keys.parse(encodeUtf8('accord/gen/0')), { kind: 'other' });
  assert.deepEqual(keys.parse(encodeUtf8('accord/nodes/%')), { kind: 'node', name: '%' });
});

test('loadedRows contains the rows of one generation, except rows of store-only tables [ETCD-17]', () => {
  const range = keys.loadedRows('1');
  assert.ok(isIn(keys.row('1', { table: 't', key: '' }), range));
  assert.ok(isIn(keys.row('1', { table: 'zz', key: '~' }), range));
  assert.ok(!isIn(keys.row('1', { table: 'audit', key: '1' }), range));
  assert.ok(!isIn(keys.row('10', { table: 't', key: '1' }), range));
  assert.ok(isIn(keys.row('1', { table: 'audit', key: '1' }), keys.generation('1')));
});

test('tableRange excludes a table whose name starts with the same text', () => {
  const range = keys.tableRange('1', 't');
  assert.ok(isIn(keys.row('1', { table: 't', key: '\u{10ffff}' }), range));
  assert.ok(!isIn(keys.row('1', { table: 't2', key: '' }), range));
});

test('rowDecoder returns the table, key, and value of each row', () => {
  const decode = keys.rowDecoder('1');
  const rows = [
    { table: 'a', key: 'x/y', value: '1' },
    { table: 'a', key: '', value: '2' },
    { table: 'ab', key: 'ü', value: '3' },
    { table: 'audit', key: 'k', value: '4' },
  ];
  assert.deepEqual(
    rows.map((row) => decode(keys.row('1', row), encodeUtf8(row.value))),
    rows,
  );
});

test('keyAfter returns the smallest greater key', () => {
  const key = encodeUtf8('k');
  assert.equal(Buffer.compare(keyAfter(key), key), 1);
  assert.equal(decodeUtf8(keyAfter(key)), 'k\0');
});
