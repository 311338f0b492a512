import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missingHeapOptions, oldGenerationBytes } from './heap-limit.ts';

const MEBIBYTE = 2 ** 20;
const LARGE = 64 * 1024 * MEBIBYTE;

/** What V8 reports on a large machine with these options. */
const limitWith = (old: number, semi = 32): number => (old + 3 * semi) * MEBIBYTE;

describe('oldGenerationBytes', () => {
  for (const [options, heapSizeLimit, memoryMiB, expected] of [
    [['--max-old-space-size=320'], limitWith(320), 65_536, 320],
    [['--max_old_space_size=320', '--max-semi-space-size=1'], limitWith(320, 1), 65_536, 320],
    [['--max-old-space-size-percentage=50'], limitWith(12_052), 65_536, 12_052],
    [[], 4_192 * MEBIBYTE, 65_536, 4_003],
    // The container has less than the heap: 4,096 less an eighth, 64 for code, and 96 for the young generation.
    [['--max-old-space-size=8192'], limitWith(8_192), 4_096, 3_424],
  ] as const) {
    it(`returns ${expected} MiB for "${options.join(' ')}" in ${memoryMiB} MiB [SRV-30]`, () => {
      const bytes = oldGenerationBytes({ heapSizeLimit, options, memoryBytes: memoryMiB * MEBIBYTE });
      assert.equal(Math.floor(bytes / MEBIBYTE), expected);
    });
  }
});

describe('missingHeapOptions', () => {
  const missing = (options: readonly string[], heapMiB: number, memoryBytes: number) =>
    missingHeapOptions({ heapSizeLimit: heapMiB * MEBIBYTE, options, memoryBytes });

  it('returns nothing if the heap fits the memory', () => {
    assert.equal(missing([], 4_192, LARGE), undefined);
    assert.equal(missing([], 536, 1_024 * MEBIBYTE), undefined);
  });

  it('returns both limits in a container that is smaller than the heap', () => {
    assert.deepEqual(missing([], 262, 256 * MEBIBYTE), ['--max-old-space-size=154', '--max-semi-space-size=2']);
  });

  it('keeps the limit that the operator chose, and never asks for options that are there', () => {
    for (const option of ['--max-old-space-size=200', '--max-old-space-size-percentage=80', '--max-heap-size=300']) {
      assert.deepEqual(missing([option], 300, 256 * MEBIBYTE), ['--max-semi-space-size=2']);
      assert.equal(missing([option, '--max-semi-space-size=2'], 300, 256 * MEBIBYTE), undefined);
    }
  });
});
