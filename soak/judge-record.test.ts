import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgeRecord, type LinkFacts, type LookedAt } from './judge-record.ts';
import { ACTIVE_MS, LAST_RECEIVE_MS, SETTLED_MS } from './limits.ts';

const AT_MS = Date.parse('2026-01-01T00:00:00Z');
const calm: LinkFacts = { atMs: AT_MS, cutSinceMs: undefined, calmSinceMs: AT_MS - SETTLED_MS };
const cut = (agoMs: number): LinkFacts => ({ atMs: AT_MS, cutSinceMs: AT_MS - agoMs, calmSinceMs: undefined });
const record = (State: string, receivedAgoMs?: number): LookedAt => ({
  State,
  StreamStatus: receivedAgoMs === undefined ? {} : { LastReceive: new Date(AT_MS - receivedAgoMs).toISOString() },
});

describe('the record of a peering', () => {
  const cases: readonly (readonly [what: string, record: LookedAt, facts: LinkFacts, wrong: RegExp | undefined])[] = [
    ['ACTIVE that heard something just now', record('ACTIVE', 500), calm, undefined],
    ['ACTIVE that heard nothing for too long', record('ACTIVE', LAST_RECEIVE_MS + 1), calm, /LastReceive/],
    [
      'ACTIVE that heard nothing, right after a fault',
      record('ACTIVE', LAST_RECEIVE_MS + 1),
      { ...calm, calmSinceMs: AT_MS - 1 },
      undefined,
    ],
    ['ACTIVE on a link that was cut a moment ago', record('ACTIVE'), cut(1_000), undefined],
    ['ACTIVE on a link that is cut for long', record('ACTIVE'), cut(ACTIVE_MS + 1), /nothing has passed/],
    ['INITIAL on a link that is cut for long', record('INITIAL'), cut(ACTIVE_MS + 1), undefined],
    ['TERMINATED though nobody deleted it', record('TERMINATED'), calm, /neither cluster/],
  ];
  for (const [what, looked, facts, wrong] of cases) {
    test(`${what} is ${wrong === undefined ? 'in order' : 'wrong'}`, () => {
      const found = judgeRecord(looked, facts);
      if (wrong === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', wrong);
    });
  }
});
