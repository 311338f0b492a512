import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ANSWER_LIMITS } from '../http/answer-limits.ts';
import { isStateError } from '../state/errors.ts';
import { DERIVED_LIMITS } from '../state/memory/derived-cache.ts';
import { planMemory } from './memory-plan.ts';

const MEBIBYTE = 2 ** 20;

describe('planMemory', () => {
  it('rejects a heap below the minimum, and names its size, the minimum, and the remedy [SRV-30]', () => {
    assert.throws(
      () => planMemory({ oldGenerationBytes: 63 * MEBIBYTE, sharedStore: false }),
      (error) =>
        isStateError(error, 'memory-full') &&
        /may use 63 MiB, .* at least 64: .*--max-old-space-size/.test(error.message),
    );
  });

  for (const mebibytes of [64, 128, 320, 640, 4096]) {
    it(`leaves room for every part of a heap of ${mebibytes} MiB`, () => {
      const oldGenerationBytes = mebibytes * MEBIBYTE;
      for (const sharedStore of [false, true]) {
        const { rows, derived, answers } = planMemory({ oldGenerationBytes, sharedStore });
        const caches = derived.cacheBytesMax + derived.fragmentBytesMax;
        // A response in the making: its parts and the whole.
        const responses = 2 * answers.charactersMax + answers.unsentBytesMax;
        const copies = sharedStore ? 2 : 1;
        // A reload frees the caches.
        const used = Math.max(copies * rows.bytesMax, rows.bytesMax + caches + responses);
        assert.ok(30 * MEBIBYTE + used < oldGenerationBytes, `${used}`);
        assert.ok(rows.loadBytesMax > rows.bytesMax);
      }
    });
  }

  it('returns the default limits of caches and responses for a heap of the default size', () => {
    const { derived, answers } = planMemory({ oldGenerationBytes: 4096 * MEBIBYTE, sharedStore: false });
    assert.equal(derived.cacheBytesMax, DERIVED_LIMITS.cacheBytesMax);
    assert.deepEqual(
      [answers.charactersMax, answers.prettyCharactersMax],
      [ANSWER_LIMITS.charactersMax, 16 * MEBIBYTE],
    );
  });
});
