import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { START_MS } from '../../../test/support/peering/session-fixtures.ts';
import { createSessionPair, type Endpoint } from '../../../test/support/peering/session-pair.ts';
import { createRandom } from '../../../test/support/random.ts';
import { canRead } from './session/session.ts';

const seed = fc.integer({ min: 0, max: 2 ** 31 });
const actions = fc.integer({ min: 1, max: 300 });

const other = (halves: readonly [Endpoint, Endpoint], half: Endpoint): Endpoint =>
  halves[0] === half ? halves[1] : halves[0];

describe('two connected sessions', () => {
  it('acknowledge each response exactly once and converge [STREAM-37] [STREAM-40]', () => {
    fc.assert(
      fc.property(seed, actions, (start, count) => {
        const random = createRandom(start);
        const pair = createSessionPair(START_MS, 0);
        for (let done = 0; done < count; done++) pair.randomAction(random);
        pair.runToCompletion(random);
        for (const half of pair.endpoints) {
          const peer = other(pair.endpoints, half);
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

  it('acknowledge each rejected response exactly once and count it on both sides [STREAM-40]', () => {
    fc.assert(
      fc.property(seed, actions, (start, count) => {
        const random = createRandom(start);
        const pair = createSessionPair(START_MS, 0.3);
        for (let done = 0; done < count; done++) pair.randomAction(random);
        pair.runToCompletion(random);
        for (const half of pair.endpoints) {
          assert.deepEqual([...half.answeredNonces].sort(), half.readNonces);
          assert.equal(half.session.counters.nacksSent, other(pair.endpoints, half).session.counters.nacksReceived);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('end with a deletion on one side and `terminated-by-peer` on the other, whenever the deletion happens [STREAM-80]', () => {
    fc.assert(
      fc.property(seed, actions, fc.boolean(), (start, count, accepting) => {
        const random = createRandom(start);
        const pair = createSessionPair(START_MS, 0.1);
        for (let done = 0; done < count; done++) pair.randomAction(random);
        const deleted = pair.endpoints[accepting ? 0 : 1];
        pair.dispatch(deleted, { type: 'terminate' });
        for (let done = 0; done < count; done++) pair.randomAction(random);
        pair.runToCompletion(random);
        assert.deepEqual(deleted.end, { kind: 'terminated-here' });
        assert.deepEqual(other(pair.endpoints, deleted).end, { kind: 'terminated-by-peer' });
        for (const half of pair.endpoints) assert.equal(canRead(half.session), false);
      }),
      { numRuns: 150 },
    );
  });
});
