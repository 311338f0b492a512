import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { counters } from '../../../test/support/state/tables.ts';
import { isStateError } from '../errors.ts';
import { defineTable } from '../table.ts';
import { decodeRow, encodeRow, formatsToWrite, readableFormats } from './codec.ts';

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

describe('formatsToWrite', () => {
  const format = (things?: number): number | undefined =>
    formatsToWrite([versioned], things === undefined ? {} : { things })['things'];

  it('returns the newest format that every server reads [STATE-29]', () => {
    assert.deepEqual([undefined, 4, 3, 2].map(format), [3, 3, 3, 2]);
  });

  it('returns the newest format if this version cannot write the one that other servers read [STATE-29]', () => {
    assert.equal(format(1), 3);
    assert.deepEqual(formatsToWrite([counters], { counters: 0 }), { counters: 1 });
  });
});

describe('readableFormats', () => {
  it('returns the newest format of each table', () => {
    assert.deepEqual(readableFormats([versioned, counters]), { things: 3, counters: 1 });
  });
});
