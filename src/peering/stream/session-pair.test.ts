import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { AT } from '../../../test/support/peering/peer-session.ts';
import { createSessionPair, type Half } from '../../../test/support/peering/session-pair.ts';
import { createRandom } from '../../../test/support/random.ts';
import { mayRead } from './session/session.ts';

const seed = fc.integer({ min: 0, max: 2 ** 31 });
const actions = fc.integer({ min: 1, max: 300 });

const other = (halves: readonly [Half, Half], half: Half): Half => (halves[0] === half ? halves[1] : halves[0]);

suite('two sessions joined by wires', () => {
  test('every response that is read is answered exactly once, and both end up with what the other exports', () => {
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
          assert.equal(half.session.sending.unacknowledged.size, 0);
          assert.equal(half.session.applying.bytes, 0);
          assert.deepEqual(new Map([...half.applied].sort()), new Map([...peer.exported].sort()));
          assert.deepEqual(half.session.counters.protocolErrors, 0);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('what is refused is answered exactly once too, and both sides count the same', () => {
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

  test('a deletion at any moment ends both sides for good, and the other side learns of it', () => {
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
        for (const half of pair.halves) assert.equal(mayRead(half.session), false);
      }),
      { numRuns: 150 },
    );
  });
});
