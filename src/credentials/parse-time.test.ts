import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from './parse-time.ts';

const times: readonly (readonly [text: string, iso: string | undefined])[] = [
  ['2026-01-31T00:00:00Z', '2026-01-31T00:00:00.000Z'],
  ['2026-01-31t01:02:03z', '2026-01-31T01:02:03.000Z'],
  ['2026-01-31T01:02:03.123456789Z', '2026-01-31T01:02:03.123Z'],
  ['2026-01-31T01:00:00+02:00', '2026-01-30T23:00:00.000Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ['2026-02-29T00:00:00Z', undefined],
  ['2026-02-30T00:00:00Z', undefined],
  ['0099-02-29T00:00:00Z', undefined],
  ['2026-00-10T00:00:00Z', undefined],
  ['2026-13-01T00:00:00Z', undefined],
  ['2026-01-00T00:00:00Z', undefined],
  ['2026-01-01T25:00:00Z', undefined],
  ['2026-01-01T00:00:00+99:00', undefined],
  ['2026-01-31T00:00:00', undefined],
  ['2026-01-31 00:00:00Z', undefined],
  ['2026-01-31T00:00Z', undefined],
  ['2026-01-31', undefined],
  ['31 January 2026', undefined],
  ['1769817600', undefined],
  ['', undefined],
];
for (const [text, iso] of times) {
  test(`parseTime ${iso === undefined ? 'rejects' : 'accepts'} "${text}" [V1-40] [DOC-5] [TEAM-56]`, () => {
    const ms = parseTime(text);
    assert.equal(ms === undefined ? undefined : new Date(ms).toISOString(), iso);
  });
}
