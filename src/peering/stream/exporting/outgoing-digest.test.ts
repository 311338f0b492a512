import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { fromBinary } from '@bufbuild/protobuf';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import type { Content } from '../../export/service-payloads.ts';
import { DIGEST_PAUSE_MS, DIGEST_SERVICES_A_PAUSE } from '../limits.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';
import { type OutgoingDigest, outgoingDigest, type SentService } from './outgoing-digest.ts';

let clock: FakeClock;
let services: readonly SentService[];
let digest: OutgoingDigest;
let told = 0;
const touch = (): void => digest.touch(() => (told += 1));
beforeEach(() => {
  clock = createFakeClock();
  services = [];
  told = 0;
  digest = outgoingDigest({ index: () => 7, clock, services: () => services });
});

const content = (text: string): Content => {
  const encoded = Buffer.from(text);
  return { encoded, messageBytes: encoded.length, tooLarge: false };
};
const TOO_LARGE: Content = { encoded: new Uint8Array(), messageBytes: 9e6, tooLarge: true };

test('a digest names every service that is exported, with a hash of what was sent of it', () => {
  const web = content('web');
  services = [
    { name: 'large', content: TOO_LARGE },
    { name: 'new', content: undefined },
    { name: 'web', content: web },
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
  // The same bytes under another name, and other bytes under the same.
  services = [
    { name: 'WEB', content: web },
    { name: 'db', content: content('db') },
  ];
  assert.deepEqual(listed(), [
    ['WEB', hash('sha256', 'web')],
    ['db', hash('sha256', 'db')],
  ]);
});

test('changes are told once a pause, and only to who has asked', () => {
  touch();
  assert.equal(clock.timers, 0);
  assert.deepEqual(digest.ids(), ['digest']);
  touch();
  touch();
  clock.advance(DIGEST_PAUSE_MS - 1);
  assert.equal(told, 0);
  clock.advance(1);
  assert.equal(told, 1);
  clock.advance(10 * DIGEST_PAUSE_MS);
  assert.equal(told, 1);
  touch();
  clock.advance(DIGEST_PAUSE_MS);
  assert.equal(told, 2);
});

test('the more is exported, the longer the pause', () => {
  digest.ids();
  services = Array.from({ length: DIGEST_SERVICES_A_PAUSE + 1 }, (_, i) => ({ name: `s${i}`, content: undefined }));
  touch();
  clock.advance(2 * DIGEST_PAUSE_MS - 1);
  assert.equal(told, 0);
  clock.advance(1);
  assert.equal(told, 1);
});

test('after the end nothing is told', () => {
  digest.ids();
  touch();
  digest.end();
  touch();
  assert.equal(clock.timers, 0);
});
