import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deletedHere,
  newPeering,
  type Peering,
  streamLost,
  streamOpened,
  streamRefused,
  terminatedByPeer,
} from '../record/record.ts';
import { checkAdvertised, checkOutstanding, checkStream } from './check-record.ts';

const NOW_MS = Date.UTC(2026, 0, 31);
const at = (ms: number): string => new Date(NOW_MS + ms).toISOString();

const fresh = newPeering({ id: 'an-id', name: 'east', partition: 'default', role: 'accepting', meta: {} });
const active = streamOpened(fresh, { node: 'a', incarnation: 'b' });
assert.ok(active !== undefined);
const failing = { since: at(0), reason: 'heartbeat timeout' };

test('the stream is judged by the state of the record', () => {
  const rows: readonly [row: Peering | undefined, found: string, detail: string | undefined][] = [
    [fresh, 'stream-not-yet', undefined],
    [active as Peering, 'passed', 'ACTIVE'],
    [
      streamLost(active, active.stream.epoch, failing) as Peering,
      'stream-failing',
      `heartbeat timeout, since ${at(0)}; there was one before`,
    ],
    [
      streamRefused(fresh, { since: at(0), reason: 'connection refused' }) as Peering,
      'stream-failing',
      `connection refused, since ${at(0)}; there has never been one`,
    ],
    [deletedHere(fresh, at(0)) as Peering, 'deleted-here', `at ${at(0)}`],
    [terminatedByPeer(fresh) as Peering, 'deleted-there', undefined],
  ];
  for (const [row, found, detail] of rows) {
    assert.ok(row !== undefined);
    const check = checkStream(row);
    assert.deepEqual([check.Code ?? check.Status, check.Detail], [found, detail]);
  }
});

test('the token of an accepting peering is judged by what is left of it', () => {
  const establishment = { hash: 'h', createTime: at(-1) };
  const peeringId = fresh.id;
  const judged = (secrets: Parameters<typeof checkOutstanding>[1], row: Peering = fresh): string => {
    const { Status, Code, Detail = '' } = checkOutstanding(row, secrets, NOW_MS);
    return `${Code ?? Status} ${Detail}`.trim();
  };
  assert.equal(judged(undefined), 'token-missing');
  assert.equal(judged({ peeringId }), 'token-missing');
  assert.equal(
    judged({ peeringId, establishment }),
    `passed one made at ${at(-1)} waits to be used, until it is revoked`,
  );
  assert.equal(
    judged({ peeringId, establishment: { ...establishment, expirationTime: at(1) } }),
    `passed one made at ${at(-1)} waits to be used, until ${at(1)}`,
  );
  const expired = { ...establishment, expirationTime: at(0) };
  assert.equal(judged({ peeringId, establishment: expired }), `token-expired at ${at(0)}`);
  assert.equal(
    judged({ peeringId, active: 'h', establishment: expired }),
    `passed one was used; a later one has expired at ${at(0)}`,
  );
  assert.equal(judged({ peeringId, pending: 'h' }), 'passed it was used');
  assert.equal(judged(undefined, terminatedByPeer(fresh) as Peering), 'skipped');
});

test('loopback among the advertised addresses is a warning', () => {
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
