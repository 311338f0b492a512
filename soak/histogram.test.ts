import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createHistogram } from './histogram.ts';

describe('a histogram', () => {
  test('returns quantiles at most 10 % above the exact ones', () => {
    const histogram = createHistogram();
    for (let ms = 1; ms <= 1_000; ms += 1) histogram.add(ms);
    for (const share of [0.01, 0.5, 0.99, 1]) {
      const quantile = histogram.quantile(share) ?? 0;
      const exact = share * 1_000;
      assert.ok(quantile >= exact && quantile <= exact * 1.1, `${share}: ${quantile}`);
    }
    assert.equal(histogram.count, 1_000);
  });

  test('has no quantile while it is empty, and accepts durations outside its buckets', () => {
    const histogram = createHistogram();
    assert.equal(histogram.quantile(0.5), undefined);
    histogram.add(0);
    assert.ok((histogram.quantile(1) ?? 1) < 1);
    histogram.add(1e9);
    assert.ok((histogram.quantile(1) ?? 0) > 100_000);
  });
});
