import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDuration } from './duration.ts';

describe('parseDuration [V1-41]', () => {
  const good: [string, number][] = [
    ['0', 0],
    ['0s', 0],
    ['10s', 10_000],
    ['5m', 300_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['2.s', 2_000],
    ['100ms', 100],
    ['1h1m1s1ms', 3_661_001],
    ['1000us', 1],
    ['1000µs', 1],
    ['1000μs', 1],
    ['1000000ns', 1],
  ];
  for (const [text, ms] of good) it(`returns ${ms} ms for '${text}'`, () => assert.equal(parseDuration(text), ms));

  const bad = [
    '',
    '10',
    's',
    '-1s',
    '+1s',
    '1 s',
    '1s ',
    '1d',
    '1S',
    '1e3s',
    '.s',
    '1s1',
    'Infinity',
    '1m-1s',
    `${'1s'.repeat(40)}`,
  ];
  for (const text of bad) it(`returns undefined for '${text}'`, () => assert.equal(parseDuration(text), undefined));
});
