/** The soak in small: both clusters, all kinds of requests, one server killed and the links cut once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportText } from '../../soak/report.ts';
import { runSoak } from '../../soak/run-soak.ts';
import { skipWithout } from '../support/tools.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);

test('a short soak ends without violations', { skip: skipWithout('etcd'), timeout: 240_000 }, async (context) => {
  const report = await runSoak({
    seed: SEED,
    length: { rounds: 1 },
    faults: ['kill', 'cut'],
    faultShare: 0.25,
    pauseMs: 100,
    say: (text) => context.diagnostic(text),
    signal: context.signal,
  });
  context.diagnostic(reportText(report));
  assert.equal(report.violations, 0, 'each is told in full above');
  assert.deepEqual([...report.faults].toSorted(), [
    ['cut', 1],
    ['kill', 1],
  ]);
  const puts = report.counts.filter(({ label }) => label.endsWith(' put'));
  assert.equal(puts.length, 8, 'of every kind');
  for (const { label, outcomes } of puts) assert.ok(outcomes.done > 0, label);
});
