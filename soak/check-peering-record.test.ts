import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkPeeringRecord, type LinkStatus, type PeeringRecord } from './check-peering-record.ts';
import { ACTIVE_MS, LAST_RECEIVE_MS, SETTLED_MS } from './limits.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const calm: LinkStatus = { nowMs: NOW_MS, cutSinceMs: undefined, calmSinceMs: NOW_MS - SETTLED_MS };
const cut = (agoMs: number): LinkStatus => ({ nowMs: NOW_MS, cutSinceMs: NOW_MS - agoMs, calmSinceMs: undefined });
const record = (State: string, receivedAgoMs?: number): PeeringRecord => ({
  State,
  StreamStatus: receivedAgoMs === undefined ? {} : { LastReceive: new Date(NOW_MS - receivedAgoMs).toISOString() },
});

describe('checkPeeringRecord', () => {
  type Case = readonly [what: string, record: PeeringRecord, status: LinkStatus, expected: RegExp | undefined];
  const cases: readonly Case[] = [
    ['ACTIVE with a recent LastReceive', record('ACTIVE', 500), calm, undefined],
    ['ACTIVE with an old LastReceive', record('ACTIVE', LAST_RECEIVE_MS + 1), calm, /LastReceive/],
    [
      'ACTIVE with an old LastReceive right after a fault',
      record('ACTIVE', LAST_RECEIVE_MS + 1),
      { ...calm, calmSinceMs: NOW_MS - 1 },
      undefined,
    ],
    ['ACTIVE shortly after the link was cut', record('ACTIVE'), cut(1_000), undefined],
    ['ACTIVE long after the link was cut', record('ACTIVE'), cut(ACTIVE_MS + 1), /no traffic/],
    ['INITIAL long after the link was cut', record('INITIAL'), cut(ACTIVE_MS + 1), undefined],
    ['TERMINATED without a deletion', record('TERMINATED'), calm, /neither cluster/],
  ];
  for (const [what, checked, status, expected] of cases) {
    test(`${expected === undefined ? 'accepts' : 'reports'} ${what}`, () => {
      const found = checkPeeringRecord(checked, status);
      if (expected === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', expected);
    });
  }
});
