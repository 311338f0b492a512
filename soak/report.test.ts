import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from './memory.ts';
import { excessiveGrowth, type Report, reportText } from './report.ts';
import { createRequestStats } from './request-stats.ts';
import { createViolationLog } from './violation-log.ts';

const MIB = 1024 * 1024;
const memory = (a1: number, etcd: number): ReadonlyMap<string, number> =>
  new Map([
    ['a1', a1 * MIB],
    ['etcd', etcd * MIB],
  ]);

function report(last: ReadonlyMap<string, number>): Report {
  const stats = createRequestStats();
  const done = { label: 'partition put', outcome: 'done', durationMs: 5 } as const;
  stats.add({ ...done, isCalm: true });
  stats.add({ ...done, durationMs: 900, isCalm: false });
  stats.add({ ...done, outcome: 'unavailable', isCalm: true });
  return {
    seed: 7,
    durationMs: 90_000,
    requests: stats.rows,
    faults: new Map([['kill', 2]]),
    violations: 3,
    memory: [memory(100, 30), memory(101, 40), last],
    restarts: new Map([['a1', 2]]),
  };
}

describe('reportText', () => {
  test('contains requests, latency without faults, faults, memory, and violations', () => {
    const text = reportText(report(memory(102, 60)));
    assert.match(text, /^soak of 1\.5 minutes, seed 7$/m);
    assert.match(text, /^partition put +2 +0 +1 +0 +1 +5\.\d +5\.\d$/m);
    assert.match(text, /^server killed and restarted +2$/m);
    assert.match(text, /^a1 +100 +101 +102 +\+2 % +flat +2$/m);
    assert.match(text, /^cluster a +100 +101 +102 +\+2 % +flat$/m);
    assert.match(text, /^etcd +30 +40 +60 +\+100 %$/m);
    assert.match(text, /^violations: 3$/m);
  });

  test('marks a cluster whose memory exceeds its limit', () => {
    assert.match(reportText(report(memory(120, 30))), /^cluster a .* GROWS/m);
  });
});

describe('excessiveGrowth', () => {
  const names = (last: ReadonlyMap<string, number>): readonly string[] =>
    excessiveGrowth(report(last)).map(({ name }) => name);

  test('returns the clusters and the server that exceed their limits', () => {
    assert.deepEqual(names(memory(120, 30)), ['cluster a']);
    assert.deepEqual(names(memory(150, 30)), ['a1', 'cluster a'], 'the server that is never killed as well');
    assert.deepEqual(names(memory(110, 90)), []);
  });

  test('ignores a decrease, and processes without a limit', () => {
    assert.ok(growthOf(memory(100, 30), memory(80, 300)).every(({ exceedsLimit }) => !exceedsLimit));
  });
});

describe('a violation log', () => {
  test('prints the first violations with all details and a shortened response, and counts the rest', () => {
    const printed: string[] = [];
    const violations = createViolationLog({
      seed: 7,
      elapsedMs: () => 12_345,
      print: (text) => void printed.push(text),
    });
    violations.add({
      rule: 'a read returns the acknowledged value',
      request: 'GET /v1/partition/p',
      server: 'a2',
      response: `404 ${'x'.repeat(10_000)}`,
      expected: 'p: v1',
      history: ['put v1 on a1: done'],
    });
    const [text = ''] = printed;
    for (const part of [
      'acknowledged',
      'GET /v1/partition/p',
      'a2',
      '404',
      'p: v1',
      'seed 7',
      '12.3 s',
      'put v1 on a1: done',
    ])
      assert.ok(text.includes(part), part);
    assert.ok(text.length < 1_000, 'a long response is shortened');
    for (let count = 1; count < 1_000; count += 1)
      violations.add({ rule: 'again', request: '', server: '', response: '', expected: '' });
    assert.equal(violations.count, 1_000);
    assert.ok(printed.length < 100, 'the rest is counted');
  });
});
