import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStreamTraffic } from './stream-traffic.ts';

describe('the counters of streams', () => {
  it('counts what the streams of a peering did', () => {
    const traffic = createStreamTraffic();
    traffic.opened('east');
    traffic.received('east', 'response', 5);
    traffic.sent('east', 'request', 7);
    traffic.acknowledged('east', 3);
    traffic.refused('east', 1, 2);
    assert.deepEqual(traffic.byPeering.get('east'), {
      messagesIn: 1,
      messagesOut: 1,
      bytesIn: 5,
      bytesOut: 7,
      refusedByPeer: 1,
      refusedHere: 2,
      opened: 1,
      roundTripMs: 3,
    });
  });

  it('adds nothing for a removed peering whose stream ends later', () => {
    const traffic = createStreamTraffic();
    traffic.opened('east');
    traffic.forget('east');
    traffic.acknowledged('east', 3);
    traffic.refused('east', 1, 2);
    assert.equal(traffic.byPeering.size, 0);
  });
});
