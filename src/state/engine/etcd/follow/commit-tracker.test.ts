import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { CommittedChange, Follower, Operation } from '../../engine.ts';
import { EventSchema } from '../client/gen/etcd_pb.ts';
import { encodeHead, type HeadRecord, type Position } from '../head-record.ts';
import { createKeys, encodeUtf8 } from '../keys.ts';
import { type CommitTracker, createCommitTracker, type OwnCommit, type RevisionEvents } from './commit-tracker.ts';

const keys = createKeys('accord/', new Set());
const record: HeadRecord = {
  format: 1,
  cluster: 'c',
  epoch: 1,
  index: 10,
  generation: '0',
  etcdCluster: '1',
  by: 'someone/1',
};
const start: Position = { record, encoded: encodeHead(record), modRevision: 100n };
const row: Operation = { table: 't', key: 'k', value: 'v' };

interface Received {
  readonly commits: CommittedChange[];
  readonly breaks: string[];
}

function startTracker(): { tracker: CommitTracker; received: Received } {
  const received: Received = { commits: [], breaks: [] };
  const follower: Follower = {
    onCommit: (change) => void received.commits.push(change),
    onBreak: (reason) => void received.breaks.push(reason),
    onLiveNodes() {},
    onFormats() {},
    onStatus() {},
    onFatal() {},
  };
  const ignore = (): void => undefined;
  const options = { keys, follower, formats: { t: 1 }, onNodeKey: ignore, onHead: ignore, stop: ignore };
  const tracker = createCommitTracker(options);
  tracker.start(start);
  return { tracker, received };
}

function put(key: Uint8Array, value: string, revision: bigint) {
  return create(EventSchema, { kv: { key, value: encodeUtf8(value), modRevision: revision } });
}

/** Returns the events of a commit. */
function commitOf(revision: bigint, head: HeadRecord, writer = 'someone', batch = '2'): RevisionEvents {
  const events = [
    put(keys.head, encodeHead(head), revision),
    put(keys.writer(writer), batch, revision),
    put(keys.row('0', row), row.value ?? '', revision),
  ];
  return { revision, events };
}

const after = (index: number): HeadRecord => ({ ...record, index, by: `someone/${index}` });

function ownCommit(onSeen = (): void => {}): OwnCommit {
  const next = { ...record, index: 11, by: 'me/1' };
  return { incarnation: 'me', batch: '1', operations: [row], record: next, encoded: encodeHead(next), onSeen };
}

test('apply delivers each foreign commit once, in order [STATE-104]', () => {
  const { tracker, received } = startTracker();
  for (const at of [1n, 1n, 2n, 1n]) tracker.apply(commitOf(100n + at, after(10 + Number(at))));
  assert.deepEqual(received.commits, [
    { index: 11, operations: [row], own: false },
    { index: 12, operations: [row], own: false },
  ]);
  assert.deepEqual(received.breaks, []);
});

test('an own commit is delivered once, by its answer or by the watch [ETCD-31] [ETCD-45]', () => {
  for (const watchFirst of [true, false]) {
    const { tracker, received } = startTracker();
    let seen = 0;
    const own = ownCommit(() => {
      seen += 1;
    });
    tracker.expectOwn(own);
    const event = (): void => tracker.apply(commitOf(101n, own.record, 'me', '1'));
    if (watchFirst) event();
    tracker.ownCommitted(own, 101n);
    if (!watchFirst) event();
    assert.deepEqual(received.commits, [{ index: 11, operations: [row], own: true }]);
    assert.equal(seen, watchFirst ? 1 : 0);
    assert.equal(tracker.position()?.modRevision, 101n);
  }
});

test('an own commit of an earlier batch is delivered as foreign', () => {
  const { tracker, received } = startTracker();
  tracker.expectOwn({ ...ownCommit(), batch: '7' });
  tracker.apply(commitOf(101n, after(11), 'me', '6'));
  assert.deepEqual(
    received.commits.map(({ own }) => own),
    [false],
  );
});

test('leased and foreign keys do not move the position [STATE-11] [ETCD-46] [ETCD-55]', () => {
  const { tracker, received } = startTracker();
  tracker.apply({
    revision: 105n,
    events: [put(encodeUtf8('accord/foreign'), 'x', 105n), put(keys.node('b'), '{}', 105n)],
  });
  assert.deepEqual(tracker.position(), start);
  assert.deepEqual(received, { commits: [], breaks: [] });
});

test('apply ignores rows of another generation [ETCD-46]', () => {
  const { tracker, received } = startTracker();
  const { events } = commitOf(101n, after(11));
  tracker.apply({ revision: 101n, events: [...events, put(keys.row('9', row), 'other', 101n)] });
  assert.deepEqual(received.commits, [{ index: 11, operations: [row], own: false }]);
});

const BREAKS: readonly (readonly [string, HeadRecord, RegExp])[] = [
  ['a gap', after(12), /commit 12 came after 10/],
  ['another epoch', { ...after(11), epoch: 2 }, /epoch changed from 1 to 2/],
  ['another cluster', { ...after(11), cluster: 'd' }, /another cluster/],
  ['an import', { ...after(11), generation: '9' }, /import/],
];

for (const [cause, head, reason] of BREAKS) {
  test(`${cause} is a break, and no commit is delivered before the next load [STATE-106] [ETCD-51]`, () => {
    const { tracker, received } = startTracker();
    tracker.apply(commitOf(101n, head));
    assert.equal(received.breaks.length, 1);
    assert.match(received.breaks[0] ?? '', reason);
    tracker.apply(commitOf(102n, after(11)));
    tracker.ownCommitted(ownCommit(), 103n);
    assert.deepEqual(received.commits, []);
    assert.deepEqual([tracker.position(), tracker.lastPosition()], [undefined, start]);
  });
}

// Verifies [ETCD-52].
test('compareHead accepts a head that is ahead, and breaks at one that is behind or different [ETCD-19]', () => {
  const ahead = startTracker();
  ahead.tracker.compareHead(start, { record: after(15), encoded: encodeHead(after(15)), modRevision: 120n });
  assert.deepEqual([ahead.received.breaks, ahead.tracker.hasDiverged()], [[], false]);
  for (const read of [
    { record: after(9), encoded: encodeHead(after(9)), modRevision: 120n },
    { ...start, modRevision: 90n },
    { ...start, encoded: encodeHead({ ...record, by: 'another/1' }) },
  ]) {
    const { tracker, received } = startTracker();
    tracker.compareHead(start, read);
    assert.deepEqual([received.breaks.length, tracker.hasDiverged()], [1, true]);
  }
});
