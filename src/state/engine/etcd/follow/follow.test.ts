import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { CommittedChange, Follower, Operation } from '../../engine.ts';
import { EventSchema } from '../client/gen/etcd_pb.ts';
import { encodeHead, type HeadRecord, type Position } from '../head-record.ts';
import { bytes, createKeys } from '../keys.ts';
import { createFollowing, type Following, type OwnCommit, type RevisionEvents } from './follow.ts';

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
const start: Position = { record, text: encodeHead(record), modRevision: 100n };
const row: Operation = { table: 't', key: 'k', value: 'v' };

interface Told {
  readonly commits: CommittedChange[];
  readonly breaks: string[];
}

function follow(): { following: Following; told: Told } {
  const told: Told = { commits: [], breaks: [] };
  const follower: Follower = {
    onCommit: (change) => void told.commits.push(change),
    onBreak: (reason) => void told.breaks.push(reason),
    onMembers() {},
    onStatus() {},
    onFatal() {},
  };
  const following = createFollowing(
    keys,
    follower,
    () => {},
    () => {},
  );
  following.begin(start);
  return { following, told };
}

function put(key: Uint8Array, value: string, revision: bigint) {
  return create(EventSchema, { kv: { key, value: bytes(value), modRevision: revision } });
}

/** The events of a commit. */
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
  return { incarnation: 'me', batch: '1', operations: [row], record: next, text: encodeHead(next), onSeen };
}

test('foreign commits are delivered in order, each once', () => {
  const { following, told } = follow();
  for (const at of [1n, 1n, 2n, 1n]) following.apply(commitOf(100n + at, after(10 + Number(at))));
  assert.deepEqual(told.commits, [
    { index: 11, operations: [row], own: false },
    { index: 12, operations: [row], own: false },
  ]);
  assert.deepEqual(told.breaks, []);
});

test('an own commit is delivered once, whether its answer or the watch is first', () => {
  for (const watchFirst of [true, false]) {
    const { following, told } = follow();
    let seen = 0;
    const own = ownCommit(() => {
      seen += 1;
    });
    following.expect(own);
    const event = (): void => following.apply(commitOf(101n, own.record, 'me', '1'));
    if (watchFirst) event();
    following.made(own, 101n);
    if (!watchFirst) event();
    assert.deepEqual(told.commits, [{ index: 11, operations: [row], own: true }]);
    assert.equal(seen, watchFirst ? 1 : 0);
    assert.equal(following.position()?.modRevision, 101n);
  }
});

test('a commit of an earlier batch of ours that nobody waits for is foreign', () => {
  const { following, told } = follow();
  following.expect({ ...ownCommit(), batch: '7' });
  following.apply(commitOf(101n, after(11), 'me', '6'));
  assert.deepEqual(
    told.commits.map(({ own }) => own),
    [false],
  );
});

test('leased and foreign keys move nothing', () => {
  const { following, told } = follow();
  following.apply({
    revision: 105n,
    events: [put(bytes('accord/foreign'), 'x', 105n), put(keys.node('b'), '{}', 105n)],
  });
  assert.deepEqual(following.position(), start);
  assert.deepEqual(told, { commits: [], breaks: [] });
});

test('rows of another generation are not part of the state', () => {
  const { following, told } = follow();
  const { events } = commitOf(101n, after(11));
  following.apply({ revision: 101n, events: [...events, put(keys.row('9', row), 'other', 101n)] });
  assert.deepEqual(told.commits, [{ index: 11, operations: [row], own: false }]);
});

const BREAKS: readonly (readonly [string, HeadRecord, RegExp])[] = [
  ['a gap', after(12), /commit 12 came after 10/],
  ['another epoch', { ...after(11), epoch: 2 }, /epoch 1 became 2/],
  ['another cluster', { ...after(11), cluster: 'd' }, /another cluster/],
  ['an import', { ...after(11), generation: '9' }, /import/],
];

for (const [what, head, reason] of BREAKS) {
  test(`${what} is a break, and nothing more is delivered before the next load`, () => {
    const { following, told } = follow();
    following.apply(commitOf(101n, head));
    assert.equal(told.breaks.length, 1);
    assert.match(told.breaks[0] ?? '', reason);
    following.apply(commitOf(102n, after(11)));
    following.made(ownCommit(), 103n);
    assert.deepEqual(told.commits, []);
    assert.deepEqual([following.position(), following.held()], [undefined, start]);
  });
}

test('a head that is read may lie ahead; one that lies behind or is another one is a break', () => {
  const ahead = follow();
  ahead.following.compare(start, { record: after(15), text: encodeHead(after(15)), modRevision: 120n });
  assert.deepEqual([ahead.told.breaks, ahead.following.diverged()], [[], false]);
  for (const read of [
    { record: after(9), text: encodeHead(after(9)), modRevision: 120n },
    { ...start, modRevision: 90n },
    { ...start, text: encodeHead({ ...record, by: 'another/1' }) },
  ]) {
    const { following, told } = follow();
    following.compare(start, read);
    assert.deepEqual([told.breaks.length, following.diverged()], [1, true]);
  }
});
