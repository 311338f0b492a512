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

test('checkClock accepts a difference of a minute plus the measurement error', () => {
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

test('checkClock fails when the certificate is not valid by the peer clock', () => {
  assert.deepEqual([clockAt(3 * DAY_MS).Code, clockAt(3 * DAY_MS + 1).Code], ['clock-off', 'clock-far']);
  assert.deepEqual([clockAt(-DAY_MS).Code, clockAt(-DAY_MS - 1).Code], ['clock-off', 'clock-far']);
});

test('checkClock reports the difference in seconds and which clock is ahead', () => {
  assert.equal(clockAt(90_500, 250).Detail, 'theirs is 90.5 s ahead of ours, within 0.3 s');
  assert.equal(clockAt(-1_000).Detail, 'theirs is 1.0 s behind ours, within 0.0 s');
});

test('checkClock is skipped when the time is missing or invalid', () => {
  for (const headers of [{}, { 'accord-time': 'noon' }]) {
    const info = { metadata: new Headers(headers), atMs: AT_MS, uncertaintyMs: 0 };
    assert.equal(checkClock(info, certificate).Status, 'skipped');
  }
});

test('checkVersion is skipped when the peer reports no version', () => {
  const versionOf = (version?: string): ReturnType<typeof checkVersion> =>
    checkVersion({ metadata: new Headers(version === undefined ? {} : { 'accord-version': version }) }, '1.14.0');
  assert.equal(versionOf().Status, 'skipped');
  assert.equal(versionOf('1.13.0').Status, 'passed');
  assert.equal(versionOf('2.0.0').Status, 'passed');
  assert.deepEqual([versionOf('1.12.99').Code, versionOf('latest').Code], ['version-old', 'version-old']);
});
