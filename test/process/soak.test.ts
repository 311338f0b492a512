/** A short soak: two clusters, all kinds of requests, one killed server, and one interruption of the links. */
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
    timeScale: 0.25,
    pauseMs: 100,
    print: (text) => context.diagnostic(text),
    signal: context.signal,
  });
  context.diagnostic(reportText(report));
  assert.equal(report.violations, 0, 'the diagnostics above contain each violation');
  assert.deepEqual([...report.faults].toSorted(), [
    ['cut', 1],
    ['kill', 1],
  ]);
  const puts = report.requests.filter(({ label }) => label.endsWith(' put'));
  assert.equal(puts.length, 8, 'one count for each kind');
  for (const { label, outcomes } of puts) assert.ok(outcomes.done > 0, label);
});
