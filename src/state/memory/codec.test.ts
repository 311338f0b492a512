import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { counters } from '../../../test/support/state/tables.ts';
import type { Member } from '../engine/engine.ts';
import { isStateError } from '../errors.ts';
import { defineTable } from '../table.ts';
import { decodeRow, encodeRow, readableFormats, writtenFormat } from './codec.ts';

const versioned = defineTable<{ readonly id: string; readonly colour: string }>()({
  name: 'things',
  key: (row) => row.id,
  formats: {
    version: 3,
    read: { 2: (stored) => ({ ...(stored as { id: string }), colour: 'grey' }) },
    write: { 2: ({ id }) => ({ id }) },
  },
  indexes: {},
});

const member = (name: string, formats: Member['formats']): Member => ({ name, incarnation: name, formats });

describe('stored row', () => {
  it('is read as it was written, whatever JSON it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), fc.nat(), (value, createIndex, modifyIndex) => {
        const row = JSON.parse(JSON.stringify({ id: 'a', value, partition: 'p' }));
        const stored = { row, createIndex, modifyIndex };
        const text = encodeRow(counters, stored, 1);
        assert.deepEqual(decodeRow(counters, 'a', text), stored);
        assert.ok(text !== '' && !text.includes('\u0000'), 'stores take it for an end');
      }),
    );
  });

  it('is written in the older format that is asked for, and read from it', () => {
    const stored = { row: { id: 'a', colour: 'red' }, createIndex: 1, modifyIndex: 2 };
    assert.equal(encodeRow(versioned, stored, 3), '[3,1,2,{"id":"a","colour":"red"}]');
    assert.equal(encodeRow(versioned, stored, 2), '[2,1,2,{"id":"a"}]');
    assert.deepEqual(decodeRow(versioned, 'a', '[2,1,2,{"id":"a"}]'), { ...stored, row: { id: 'a', colour: 'grey' } });
  });

  it('that cannot be read says which it is, and why', () => {
    const unreadable: readonly (readonly [string, RegExp])[] = [
      ['', /row 'a' of table 'things' is not JSON/],
      ['{"id":', /is not JSON/],
      ['{"id":"a"}', /is not a stored row/],
      ['[3,1,{}]', /is not a stored row/],
      ['[4,1,2,{}]', /has format 4, this version reads up to 3.*newer version/],
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

describe('written format', () => {
  it("is this version's once every live node reads it, an older one until then", () => {
    const cases: readonly (readonly [readonly Member[], number])[] = [
      [[], 3],
      [[member('a', { things: 3 })], 3],
      [[member('a', { things: 3 }), member('b', { things: 2 })], 2],
      [[member('a', { things: 3 }), member('b', { things: 4 })], 3],
      // A node that does not know the table does not read it either.
      [[member('a', { things: 3 }), member('b', {})], 3],
    ];
    for (const [members, format] of cases) assert.equal(writtenFormat(versioned, members), format);
  });

  it("is this version's where it cannot write the older one any more", () => {
    assert.equal(writtenFormat(versioned, [member('a', { things: 1 })]), 3);
    assert.equal(writtenFormat(counters, [member('a', { counters: 0 })]), 1);
  });

  it('is told to others by table', () => {
    assert.deepEqual(readableFormats([versioned, counters]), { things: 3, counters: 1 });
  });
});
