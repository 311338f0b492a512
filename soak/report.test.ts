import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from './memory.ts';
import { type Report, reportText, tooMuchMemory } from './report.ts';
import { createTally } from './tally.ts';
import { createViolations } from './violation.ts';

const MIB = 1024 * 1024;
const memory = (a1: number, etcd: number): ReadonlyMap<string, number> =>
  new Map([
    ['a1', a1 * MIB],
    ['etcd', etcd * MIB],
  ]);

function report(last: ReadonlyMap<string, number>): Report {
  const tally = createTally();
  const done = { label: 'partition put', outcome: 'done', tookMs: 5 } as const;
  tally.add({ ...done, calm: true });
  tally.add({ ...done, tookMs: 900, calm: false });
  tally.add({ ...done, outcome: 'unavailable', calm: true });
  return {
    seed: 7,
    tookMs: 90_000,
    counts: tally.counts,
    faults: new Map([['kill', 2]]),
    violations: 3,
    memory: [memory(100, 30), memory(101, 40), last],
    restarts: new Map([['a1', 2]]),
  };
}

test('a report tells requests, latency outside faults, faults, memory and violations', () => {
  const text = reportText(report(memory(102, 60)));
  assert.match(text, /^soak of 1\.5 minutes, seed 7$/m);
  assert.match(text, /^partition put +2 +0 +1 +0 +1 +5\.\d +5\.\d$/m);
  assert.match(text, /^a server is killed and started again +2$/m);
  assert.match(text, /^a1 +100 +101 +102 +\+2 % +flat +2$/m);
  assert.match(text, /^cluster a +100 +101 +102 +\+2 % +flat$/m);
  assert.match(text, /^etcd +30 +40 +60 +\+100 %$/m);
  assert.match(text, /^violations: 3$/m);
});

test('a cluster that holds more than it may in the end is told, and fails the run', () => {
  const growing = report(memory(120, 30));
  assert.match(reportText(growing), /^cluster a .* GROWS/m);
  assert.deepEqual(
    tooMuchMemory(growing).map(({ name }) => name),
    ['cluster a'],
  );
  assert.deepEqual(
    tooMuchMemory(report(memory(150, 30))).map(({ name }) => name),
    ['a1', 'cluster a'],
    'the one long life by itself, too',
  );
  assert.deepEqual(tooMuchMemory(report(memory(110, 90))), []);
  assert.ok(
    growthOf(memory(100, 30), memory(80, 300)).every(({ tooMuch }) => !tooMuch),
    'less, and what is not judged',
  );
});

test('a violation is told with what was asked, where, what was answered, what is right, the seed and the time', () => {
  const told: string[] = [];
  const violations = createViolations({ seed: 7, elapsedMs: () => 12_345, say: (text) => void told.push(text) });
  violations.add({
    rule: 'a read shows what was acknowledged',
    asked: 'GET /v1/partition/p',
    where: 'a2',
    answered: `404 ${'x'.repeat(10_000)}`,
    expected: 'p: v1',
    history: ['put v1 at a1: done'],
  });
  const [text = ''] = told;
  for (const part of [
    'acknowledged',
    'GET /v1/partition/p',
    'a2',
    '404',
    'p: v1',
    'seed 7',
    '12.3 s',
    'put v1 at a1: done',
  ])
    assert.ok(text.includes(part), part);
  assert.ok(text.length < 1_000, 'a long answer is cut');
  for (let count = 1; count < 1_000; count += 1)
    violations.add({ rule: 'again', asked: '', where: '', answered: '', expected: '' });
  assert.equal(violations.count, 1_000);
  assert.ok(told.length < 100, 'the rest is counted');
});
