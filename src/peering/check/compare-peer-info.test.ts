import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkClock, checkVersion } from './compare-peer-info.ts';

const AT_MS = Date.UTC(2026, 0, 31);
const DAY_MS = 24 * 3_600_000;
const certificate = { validFromDate: new Date(AT_MS - DAY_MS), validToDate: new Date(AT_MS + 3 * DAY_MS) };

const clockAt = (offsetMs: number, uncertaintyMs = 0): ReturnType<typeof checkClock> => {
  const metadata = new Headers({ 'accord-time': new Date(AT_MS + offsetMs).toISOString() });
  return checkClock({ metadata, atMs: AT_MS, uncertaintyMs }, certificate);
};

test('clocks may differ by a minute, and by what is not known better', () => {
  for (const [offsetMs, uncertaintyMs, status] of [
    [0, 0, 'passed'],
    [60_000, 0, 'passed'],
    [-60_000, 0, 'passed'],
    [60_001, 0, 'warning'],
    [-60_001, 0, 'warning'],
    [61_000, 2_000, 'passed'],
    [-63_000, 2_000, 'warning'],
  ] as const) {
    assert.equal(clockAt(offsetMs, uncertaintyMs).Status, status, `${offsetMs} ± ${uncertaintyMs}`);
  }
});

test('clocks between which a certificate is not valid any more, or not yet, are a failure', () => {
  assert.deepEqual([clockAt(3 * DAY_MS).Code, clockAt(3 * DAY_MS + 1).Code], ['clock-off', 'clock-far']);
  assert.deepEqual([clockAt(-DAY_MS).Code, clockAt(-DAY_MS - 1).Code], ['clock-off', 'clock-far']);
});

test('the difference of clocks is told in seconds, and which is ahead', () => {
  assert.equal(clockAt(90_500, 250).Detail, 'theirs is 90.5 s ahead of ours, give or take 0.3 s');
  assert.equal(clockAt(-1_000).Detail, 'theirs is 1.0 s behind ours, give or take 0.0 s');
});

test('a clock that is not told, or in words of no use, is not judged', () => {
  for (const headers of [{}, { 'accord-time': 'noon' }]) {
    const said = { metadata: new Headers(headers), atMs: AT_MS, uncertaintyMs: 0 };
    assert.equal(checkClock(said, certificate).Status, 'skipped');
  }
});

test('a version is judged where one is told', () => {
  const versionOf = (version?: string): ReturnType<typeof checkVersion> =>
    checkVersion({ metadata: new Headers(version === undefined ? {} : { 'accord-version': version }) }, '1.14.0');
  assert.equal(versionOf().Status, 'skipped');
  assert.equal(versionOf('1.13.0').Status, 'passed');
  assert.equal(versionOf('2.0.0').Status, 'passed');
  assert.deepEqual([versionOf('1.12.99').Code, versionOf('latest').Code], ['version-old', 'version-old']);
});
