import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { fromBinary } from '@bufbuild/protobuf';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import type { ServicePayload } from '../../export/service-payloads.ts';
import { DIGEST_INTERVAL_MS, DIGEST_SERVICES_PER_INTERVAL } from '../limits.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';
import { type OutgoingDigest, outgoingDigest, type SentService } from './outgoing-digest.ts';

let clock: FakeClock;
let services: readonly SentService[];
let digest: OutgoingDigest;
let notified = 0;
const touch = (): void => digest.schedule(() => (notified += 1));
beforeEach(() => {
  clock = createFakeClock();
  services = [];
  notified = 0;
  digest = outgoingDigest({ index: () => 7, clock, services: () => services });
});

const payload = (text: string): ServicePayload => {
  const encoded = Buffer.from(text);
  return { encoded, messageBytes: encoded.length, tooLarge: false };
};
const TOO_LARGE: ServicePayload = { encoded: new Uint8Array(), messageBytes: 9e6, tooLarge: true };

test('the digest contains every exported service with the hash of the sent payload [STREAM-73] [STREAM-76]', () => {
  const web = payload('web');
  services = [
    { name: 'large', payload: TOO_LARGE },
    { name: 'new', payload: undefined },
    { name: 'web', payload: web },
  ];
  const wanted = [
    ['large', ''],
    ['new', ''],
    ['web', hash('sha256', 'web')],
  ];
  const shown = () => fromBinary(ExportDigestSchema, digest.read().encoded);
  const listed = () => shown().services.map((one) => [one.name, Buffer.from(one.hash).toString('hex')]);
  assert.deepEqual(listed(), wanted);
  assert.deepEqual([shown().index, shown().clockMs], [7n, BigInt(clock.now())]);
  // The same payload with another name, and another service.
  services = [
    { name: 'WEB', payload: web },
    { name: 'db', payload: payload('db') },
  ];
  assert.deepEqual(listed(), [
    ['WEB', hash('sha256', 'web')],
    ['db', hash('sha256', 'db')],
  ]);
});

test('a digest is due once in an interval, and only for a subscribed peer [STREAM-75]', () => {
  touch();
  assert.equal(clock.timerCount, 0);
  assert.deepEqual(digest.ids(), ['digest']);
  touch();
  touch();
  clock.advance(DIGEST_INTERVAL_MS - 1);
  assert.equal(notified, 0);
  clock.advance(1);
  assert.equal(notified, 1);
  clock.advance(10 * DIGEST_INTERVAL_MS);
  assert.equal(notified, 1);
  touch();
  clock.advance(DIGEST_INTERVAL_MS);
  assert.equal(notified, 2);
});

test('the interval grows with the number of exported services [STREAM-75]', () => {
  digest.ids();
  services = Array.from({ length: DIGEST_SERVICES_PER_INTERVAL + 1 }, (_, i) => ({
    name: `s${i}`,
    payload: undefined,
  }));
  touch();
  clock.advance(2 * DIGEST_INTERVAL_MS - 1);
  assert.equal(notified, 0);
  clock.advance(1);
  assert.equal(notified, 1);
});

test('no digest is due after end', () => {
  digest.ids();
  touch();
  digest.end();
  touch();
  assert.equal(clock.timerCount, 0);
});
