import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { IncomingDelivery } from '../stream/status/delivery-status.ts';
import { ExportDigestSchema } from '../stream/wire/gen/peering/digest_pb.ts';
import { type Comparison, compareService, indexDigest, noDigestReason } from './compare-digest.ts';
import type { StreamLocation } from './local-stream.ts';

const HASH = Buffer.from('of what was sent');
const SENT = HASH.toString('base64url');
/** The position of the digest in the order of received resources. */
const DIGEST_ORDER = 10;

interface Here {
  /** The content hash of the row. */
  readonly rowHash?: string;
  readonly listed?: boolean;
  readonly taken?: { readonly contentHash: string; readonly order: number };
  readonly listOrder?: number;
}

/** Creates an open stream whose digest lists `Web`, and `large`, which the peer could not send. */
function held({ taken, listOrder }: Here, peerVersion: string | undefined = '1.13.0'): StreamLocation {
  const services = [
    { name: 'Web', hash: HASH },
    { name: 'large', hash: new Uint8Array() },
  ];
  const digest = create(ExportDigestSchema, { services, index: 5n, clockMs: 1n });
  const incoming: IncomingDelivery = {
    applied: () => taken && { ...taken, atMs: 0 },
    listOrder,
    digest: () => ({ digest, atMs: 0, order: DIGEST_ORDER }),
  };
  return { kind: 'here', insight: { peerVersion, deliveryStatus: () => ({ kind: 'unsent' }), incoming } };
}

function compare(service: string, here: Here): Comparison | undefined {
  const stream = held(here);
  const digested = indexDigest(stream);
  assert.ok(digested !== undefined && stream.kind === 'here');
  const rowHash = { service, contentHash: here.rowHash, listed: here.listed ?? false };
  return compareService(digested, stream.insight.incoming, rowHash);
}

describe('compareService', () => {
  const [before, after] = [DIGEST_ORDER - 1, DIGEST_ORDER + 1];
  const rows: readonly [string, string, Here, Comparison | undefined][] = [
    ['is the same by the row', 'web', { rowHash: SENT }, 'same'],
    ['is the same in other bytes', 'web', { rowHash: 'x', taken: { contentHash: SENT, order: before } }, 'same'],
    ['is stale', 'web', { rowHash: 'x', taken: { contentHash: 'x', order: before } }, 'stale'],
    ['is stale from an earlier stream', 'web', { rowHash: 'x' }, 'stale'],
    ['came after the digest', 'web', { rowHash: 'x', taken: { contentHash: 'x', order: after } }, 'newer'],
    ['is missing', 'web', {}, 'missing'],
    ['is missing though a later list names it', 'web', { listed: true, listOrder: after }, 'missing'],
    ['was taken away by a later list', 'web', { listOrder: after }, 'newer'],
    ['is extra', 'db', { rowHash: 'x', taken: { contentHash: 'x', order: before } }, 'extra'],
    ['is extra, but came after the digest', 'db', { rowHash: 'x', taken: { contentHash: 'x', order: after } }, 'newer'],
    ['could not be sent', 'large', {}, 'unsent'],
    ['could not be sent as it is now', 'large', { rowHash: 'x', taken: { contentHash: 'x', order: before } }, 'unsent'],
    ['is nowhere', 'db', {}, undefined],
  ];
  for (const [what, service, here, wanted] of rows) {
    test(`${what}: ${wanted}`, () => assert.equal(compare(service, here), wanted));
  }
});

test('noDigestReason names the reason for each kind of stream', () => {
  const here = held({});
  assert.ok(here.kind === 'here');
  const none: IncomingDelivery = { ...here.insight.incoming, digest: () => undefined };
  const reasons = [
    noDigestReason({ kind: 'none' }),
    noDigestReason({ kind: 'elsewhere', server: 'b' }),
    noDigestReason({ kind: 'here', insight: { ...here.insight, peerVersion: undefined, incoming: none } }),
    noDigestReason({ kind: 'here', insight: { ...here.insight, incoming: none } }),
  ];
  assert.deepEqual(reasons, [
    'no stream is open',
    'only server b, which holds the stream, can compare: send the request there',
    'the peer is not an Accord cluster and sends no digest',
    'the peer has not sent a digest yet',
  ]);
  assert.equal(indexDigest({ kind: 'none' }), undefined);
});
