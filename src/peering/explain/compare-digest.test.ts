import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { IncomingInsight } from '../stream/status/delivery-status.ts';
import { ExportDigestSchema } from '../stream/wire/gen/peering/digest_pb.ts';
import { type Comparison, compareService, digestOf, noDigestReason } from './compare-digest.ts';
import type { HeldStream } from './local-stream.ts';

const HASH = Buffer.from('of what was sent');
const SENT = HASH.toString('base64url');
/** Where the digest stands among what the stream has brought. */
const DIGEST_ORDER = 10;

interface Here {
  /** Of the row. */
  readonly kept?: string;
  readonly listed?: boolean;
  readonly taken?: { readonly contentHash: string; readonly order: number };
  readonly listOrder?: number;
}

/** The peer exports `web`, and could not send `large`. */
function held({ taken, listOrder }: Here, peerVersion: string | undefined = '1.13.0'): HeldStream {
  const services = [
    { name: 'Web', hash: HASH },
    { name: 'large', hash: new Uint8Array() },
  ];
  const digest = create(ExportDigestSchema, { services, index: 5n, clockMs: 1n });
  const incoming: IncomingInsight = {
    taken: () => taken && { ...taken, atMs: 0 },
    listOrder,
    digest: () => ({ digest, atMs: 0, order: DIGEST_ORDER }),
  };
  return { kind: 'here', insight: { peerVersion, fate: () => ({ kind: 'unsent' }), incoming } };
}

function compare(service: string, here: Here): Comparison | undefined {
  const stream = held(here);
  const digested = digestOf(stream);
  assert.ok(digested !== undefined && stream.kind === 'here');
  const kept = { service, contentHash: here.kept, listed: here.listed ?? false };
  return compareService(digested, stream.insight.incoming, kept);
}

describe('a service that is compared with a digest', () => {
  const [before, after] = [DIGEST_ORDER - 1, DIGEST_ORDER + 1];
  const rows: readonly [string, string, Here, Comparison | undefined][] = [
    ['is the same by the row', 'web', { kept: SENT }, 'same'],
    ['is the same in other bytes', 'web', { kept: 'x', taken: { contentHash: SENT, order: before } }, 'same'],
    ['is stale', 'web', { kept: 'x', taken: { contentHash: 'x', order: before } }, 'stale'],
    ['is stale from an earlier stream', 'web', { kept: 'x' }, 'stale'],
    ['came after the digest', 'web', { kept: 'x', taken: { contentHash: 'x', order: after } }, 'newer'],
    ['is missing', 'web', {}, 'missing'],
    ['is missing though a later list names it', 'web', { listed: true, listOrder: after }, 'missing'],
    ['was taken away by a later list', 'web', { listOrder: after }, 'newer'],
    ['is extra', 'db', { kept: 'x', taken: { contentHash: 'x', order: before } }, 'extra'],
    ['is extra, but came after the digest', 'db', { kept: 'x', taken: { contentHash: 'x', order: after } }, 'newer'],
    ['could not be sent', 'large', {}, 'unsent'],
    ['could not be sent as it is now', 'large', { kept: 'x', taken: { contentHash: 'x', order: before } }, 'unsent'],
    ['is nowhere', 'db', {}, undefined],
  ];
  for (const [what, service, here, wanted] of rows) {
    test(`${what}: ${wanted}`, () => assert.equal(compare(service, here), wanted));
  }
});

test('without a digest the reason is told', () => {
  const here = held({});
  assert.ok(here.kind === 'here');
  const none: IncomingInsight = { ...here.insight.incoming, digest: () => undefined };
  const reasons = [
    noDigestReason({ kind: 'none' }),
    noDigestReason({ kind: 'elsewhere', server: 'b' }),
    noDigestReason({ kind: 'here', insight: { ...here.insight, peerVersion: undefined, incoming: none } }),
    noDigestReason({ kind: 'here', insight: { ...here.insight, incoming: none } }),
  ];
  assert.deepEqual(reasons, [
    'there is no stream',
    'only server b can compare, which holds the stream: ask it',
    'the peer is no Accord: it does not tell what it has sent',
    'the peer has not told yet what it has sent',
  ]);
  assert.equal(digestOf({ kind: 'none' }), undefined);
});
