import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { counters } from '../../../test/support/state/tables.ts';
import type { LiveNode } from '../engine/engine.ts';
import { isStateError } from '../errors.ts';
import { defineTable } from '../table.ts';
import { decodeRow, encodeRow, formatToWrite, readableFormats } from './codec.ts';

const versioned = defineTable<{ readonly id: string; readonly color: string }>()({
  name: 'things',
  key: (row) => row.id,
  formats: {
    version: 3,
    read: { 2: (stored) => ({ ...(stored as { id: string }), color: 'gray' }) },
    write: { 2: ({ id }) => ({ id }) },
  },
  indexes: {},
});

const member = (name: string, formats: LiveNode['formats']): LiveNode => ({ name, incarnation: name, formats });

describe('decodeRow', () => {
  it('returns the encoded row, for any JSON [SQLITE-31]', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), fc.nat(), (value, createIndex, modifyIndex) => {
        const row = JSON.parse(JSON.stringify({ id: 'a', value, partition: 'p' }));
        const stored = { row, createIndex, modifyIndex };
        const text = encodeRow(counters, stored, 1);
        assert.deepEqual(decodeRow(counters, 'a', text), stored);
        assert.ok(text !== '' && !text.includes('\u0000'), 'a store would treat NUL as the end');
      }),
    );
  });

  it('reads an older format that encodeRow wrote [STATE-27] [STATE-28]', () => {
    const stored = { row: { id: 'a', color: 'red' }, createIndex: 1, modifyIndex: 2 };
    assert.equal(encodeRow(versioned, stored, 3), '[3,1,2,{"id":"a","color":"red"}]');
    assert.equal(encodeRow(versioned, stored, 2), '[2,1,2,{"id":"a"}]');
    assert.deepEqual(decodeRow(versioned, 'a', '[2,1,2,{"id":"a"}]'), { ...stored, row: { id: 'a', color: 'gray' } });
  });

  it('names an unreadable row and the reason [STATE-31]', () => {
    const unreadable: readonly (readonly [string, RegExp])[] = [
      ['', /row 'a' of table 'things' is not JSON/],
      ['{"id":', /is not JSON/],
      ['{"id":"a"}', /is not a stored row/],
      ['[3,1,{}]', /is not a stored row/],
      ['[4,1,2,{}]', /has format 4, but this version reads up to 3.*newer version/],
      ['[1,1,2,{}]', /has format 1/],
    ];
    for (const [text, reason] of unreadable) {
      assert.throws(
        () => decodeRow(versioned, 'a', text),
        (error) => isStateError(error, 'corrupt') && reason.test(error.message),
      );
    }
  });
});

describe('formatToWrite', () => {
  it('returns the newest format that every live server reads [STATE-29]', () => {
    const cases: readonly (readonly [readonly LiveNode[], number])[] = [
      [[], 3],
      [[member('a', { things: 3 })], 3],
      [[member('a', { things: 3 }), member('b', { things: 2 })], 2],
      [[member('a', { things: 3 }), member('b', { things: 4 })], 3],
      // A server that does not declare the table does not read it.
      [[member('a', { things: 3 }), member('b', {})], 3],
    ];
    for (const [members, format] of cases) assert.equal(formatToWrite(versioned, members), format);
  });

  it('returns the newest format if this version cannot write the one that other servers read [STATE-29]', () => {
    assert.equal(formatToWrite(versioned, [member('a', { things: 1 })]), 3);
    assert.equal(formatToWrite(counters, [member('a', { counters: 0 })]), 1);
  });
});

describe('readableFormats', () => {
  it('returns the newest format of each table', () => {
    assert.deepEqual(readableFormats([versioned, counters]), { things: 3, counters: 1 });
  });
});
