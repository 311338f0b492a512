import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { withFixedYoungGeneration } from './young-generation.ts';

const MEGABYTE = 1024 * 1024;

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;

/** Creates about 60 MB of objects that all survive: twice the maximum size of the young generation. */
function survivors(): readonly object[] {
  return Array.from({ length: 1_000_000 }, (_, number) => ({ number, text: [number] }));
}

test('withFixedYoungGeneration keeps the young generation from growing until the action ends', async () => {
  const before = youngBytes();
  const [loaded, during] = await withFixedYoungGeneration(async () => [survivors(), youngBytes()] as const);
  assert.ok(during <= before + MEGABYTE, `${before} bytes became ${during}`);
  const further = survivors();
  assert.ok(youngBytes() > during, `it stays at ${during} bytes`);
  assert.equal(loaded.length, further.length);
});
