import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  markDeleted,
  newPeering,
  type Peering,
  streamLost,
  streamOpened,
  streamOpenFailed,
  terminatedByPeer,
} from '../record/record.ts';
import { checkAdvertised, checkStream, checkTokenUse } from './check-record.ts';

const NOW_MS = Date.UTC(2026, 0, 31);
const at = (ms: number): string => new Date(NOW_MS + ms).toISOString();

const fresh = newPeering({ id: 'an-id', name: 'east', partition: 'default', role: 'accepting', meta: {} });
const active = streamOpened(fresh, { node: 'a', incarnation: 'b' });
assert.ok(active !== undefined);
const failing = { since: at(0), reason: 'heartbeat timeout' };

test('checkStream reports the state of the record', () => {
  const rows: readonly [row: Peering | undefined, found: string, detail: string | undefined][] = [
    [fresh, 'stream-not-yet', undefined],
    [active as Peering, 'passed', 'ACTIVE'],
    [
      streamLost(active, active.stream.epoch, failing) as Peering,
      'stream-failing',
      `heartbeat timeout, since ${at(0)}; one was open before`,
    ],
    [
      streamOpenFailed(fresh, { since: at(0), reason: 'connection refused' }) as Peering,
      'stream-failing',
      `connection refused, since ${at(0)}; none was open before`,
    ],
    [markDeleted(fresh, at(0)) as Peering, 'deleted-here', `at ${at(0)}`],
    [terminatedByPeer(fresh) as Peering, 'deleted-there', undefined],
  ];
  for (const [row, found, detail] of rows) {
    assert.ok(row !== undefined);
    const check = checkStream(row);
    assert.deepEqual([check.Code ?? check.Status, check.Detail], [found, detail]);
  }
});

test('checkTokenUse reports whether a token is unused, used, expired or missing', () => {
  const establishment = { hash: 'h', createTime: at(-1) };
  const peeringId = fresh.id;
  const judged = (secrets: Parameters<typeof checkTokenUse>[1], row: Peering = fresh): string => {
    const { Status, Code, Detail = '' } = checkTokenUse(row, secrets, NOW_MS);
    return `${Code ?? Status} ${Detail}`.trim();
  };
  assert.equal(judged(undefined), 'token-missing');
  assert.equal(judged({ peeringId }), 'token-missing');
  assert.equal(judged({ peeringId, establishment }), `passed unused; generated at ${at(-1)}, does not expire`);
  assert.equal(
    judged({ peeringId, establishment: { ...establishment, expirationTime: at(1) } }),
    `passed unused; generated at ${at(-1)}, expires at ${at(1)}`,
  );
  const expired = { ...establishment, expirationTime: at(0) };
  assert.equal(judged({ peeringId, establishment: expired }), `token-expired at ${at(0)}`);
  assert.equal(
    judged({ peeringId, active: 'h', establishment: expired }),
    `passed used; a later token expired at ${at(0)}`,
  );
  assert.equal(judged({ peeringId, pending: 'h' }), 'passed used');
  assert.equal(judged(undefined, terminatedByPeer(fresh) as Peering), 'skipped');
});

test('checkAdvertised warns about loopback addresses', () => {
  for (const address of [
    '127.0.0.1:8503',
    '127.9.9.9:1',
    '[::1]:8503',
    'localhost:8503',
    'LocalHost:1',
    'a.localhost:1',
  ]) {
    assert.equal(checkAdvertised(['accord.example:8503', address]).Code, 'advertise-loopback', address);
  }
  for (const address of ['accord.example:8503', '10.0.0.1:8503', '[2001:db8::1]:8503', '127.example:1']) {
    assert.equal(checkAdvertised([address]).Status, 'passed', address);
  }
});
