import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHistogram } from './histogram.ts';

test('quantiles of a histogram are within a tenth above the true ones', () => {
  const histogram = createHistogram();
  for (let ms = 1; ms <= 1_000; ms += 1) histogram.add(ms);
  for (const share of [0.01, 0.5, 0.99, 1]) {
    const found = histogram.quantile(share) ?? 0;
    const real = share * 1_000;
    assert.ok(found >= real && found <= real * 1.1, `${share}: ${found}`);
  }
  assert.equal(histogram.count, 1_000);
});

test('a histogram takes what is out of all bounds, and has no quantile while it is empty', () => {
  const histogram = createHistogram();
  assert.equal(histogram.quantile(0.5), undefined);
  histogram.add(0);
  assert.ok((histogram.quantile(1) ?? 1) < 1);
  histogram.add(1e9);
  assert.ok((histogram.quantile(1) ?? 0) > 100_000);
});
