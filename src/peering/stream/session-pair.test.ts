import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AT } from '../../../test/support/peering/peer-session.ts';
import { createSessionPair, type Half } from '../../../test/support/peering/session-pair.ts';
import { createRandom } from '../../../test/support/random.ts';
import { canRead } from './session/session.ts';

const seed = fc.integer({ min: 0, max: 2 ** 31 });
const actions = fc.integer({ min: 1, max: 300 });

const other = (halves: readonly [Half, Half], half: Half): Half => (halves[0] === half ? halves[1] : halves[0]);

describe('two connected sessions', () => {
  it('acknowledge each response exactly once and converge', () => {
    fc.assert(
      fc.property(seed, actions, (start, count) => {
        const random = createRandom(start);
        const pair = createSessionPair(AT, 0);
        for (let done = 0; done < count; done++) pair.act(random);
        pair.finish(random);
        for (const half of pair.halves) {
          const peer = other(pair.halves, half);
          assert.equal(half.session.phase.name, 'open');
          assert.deepEqual([...half.answeredNonces].sort(), half.readNonces);
          assert.deepEqual(half.readNonces, peer.sentNonces);
          assert.equal(half.session.sendQueue.unacknowledged.size, 0);
          assert.equal(half.session.applyQueue.bytes, 0);
          assert.deepEqual(new Map([...half.applied].sort()), new Map([...peer.exported].sort()));
          assert.deepEqual(half.session.counters.protocolErrors, 0);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('acknowledge each rejected response exactly once and count it on both sides', () => {
    fc.assert(
      fc.property(seed, actions, (start, count) => {
        const random = createRandom(start);
        const pair = createSessionPair(AT, 0.3);
        for (let done = 0; done < count; done++) pair.act(random);
        pair.finish(random);
        for (const half of pair.halves) {
          assert.deepEqual([...half.answeredNonces].sort(), half.readNonces);
          assert.equal(half.session.counters.nacksSent, other(pair.halves, half).session.counters.nacksReceived);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('end with a deletion on one side and `terminated-by-peer` on the other, whenever the deletion happens', () => {
    fc.assert(
      fc.property(seed, actions, fc.boolean(), (start, count, accepting) => {
        const random = createRandom(start);
        const pair = createSessionPair(AT, 0.1);
        for (let done = 0; done < count; done++) pair.act(random);
        const deleted = pair.halves[accepting ? 0 : 1];
        pair.happen(deleted, { type: 'terminate' });
        for (let done = 0; done < count; done++) pair.act(random);
        pair.finish(random);
        assert.deepEqual(deleted.end, { kind: 'terminated-here' });
        assert.deepEqual(other(pair.halves, deleted).end, { kind: 'terminated-by-peer' });
        for (const half of pair.halves) assert.equal(canRead(half.session), false);
      }),
      { numRuns: 150 },
    );
  });
});
