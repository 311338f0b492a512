import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runAtOnce } from '../../state/clock/slices.ts';
import { JSON_PIECE_BYTES } from '../limits.ts';
import { indentInSlices } from './indent-json.ts';

test('indents as JSON.stringify', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(runAtOnce(indentInSlices(JSON.stringify(value))), JSON.stringify(value, null, 4));
    }),
  );
  const long = Array.from({ length: 100 }, (_, i) => ({
    [`a"${i}`]: 'x\\"{'.repeat(JSON_PIECE_BYTES / 50),
    b: [{}, []],
  }));
  assert.equal(runAtOnce(indentInSlices(JSON.stringify(long))), JSON.stringify(long, null, 4));
});
