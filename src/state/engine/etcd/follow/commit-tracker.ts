/**
 * Tracks the position, which is the head of the last delivered commit. Every event that can move it passes through this
 * file (events of the watch, answers to own commits, reads of the head), so each commit is delivered once and in order.
 *
 * The watch may deliver an own commit before or after its transaction is answered. The first of them delivers it
 * [ETCD-45].
 */
import type { Follower, Operation, TableFormats } from '../../engine.ts';
import { type Event, Event_Type, type KeyValue } from '../client/gen/etcd_pb.ts';
import { checkRowFormats, decodePosition, type HeadRecord, type Position } from '../head-record.ts';
import { decodeUtf8, type Keys, type ParsedKey } from '../keys.ts';

/** A commit of this engine that is in flight. */
export interface OwnCommit {
  readonly incarnation: string;
  /** The number of the batch, which is the value of the writer key. */
  readonly batch: string;
  readonly operations: readonly Operation[];
  /** The head that the commit makes, and its encoded form. */
  readonly record: HeadRecord;
  readonly encoded: string;
  /** Called when the watch delivers the commit. */
  readonly onSeen: (revision: bigint) => void;
}

export interface RevisionEvents {
  readonly revision: bigint;
  readonly events: readonly Event[];
}

/** Receives the events of keys that are not part of a commit: nodes, their formats, tickets, status rows. */
export type OnNodeKey = (key: ParsedKey, event: Event) => void;

export interface CommitTracker {
  /** The position; undefined before the first load and after a break. */
  position(): Position | undefined;
  /** The last position, also after a break. A commit that was prepared on it stays guarded by it. */
  lastPosition(): Position | undefined;
  start(position: Position): void;
  apply(revision: RevisionEvents): void;
  /** Sets the own commit that is in flight, if any. */
  expectOwn(own: OwnCommit | undefined): void;
  ownCommitted(own: OwnCommit, revision: bigint): void;
  /** Compares a head that was read (undefined: missing) with the position when the read began [ETCD-52]. */
  compareHead(begun: Position, read: Position | undefined): void;
  /** Reports a break. `diverged` is true if the store contains another history than the one followed. */
  break(reason: string, diverged?: boolean): void;
  /** Whether the store diverged at the last break. `start` resets it. */
  hasDiverged(): boolean;
}

export interface CommitTrackerOptions {
  readonly keys: Keys;
  readonly follower: Follower;
  /** The newest row formats that this version reads. */
  readonly formats: TableFormats;
  readonly onNodeKey: OnNodeKey;
  /** Called with each head before its commit is delivered. */
  readonly onHead: (record: HeadRecord) => void;
  /** Called for a break, before it reaches the follower. */
  readonly stop: () => void;
}

/** Creates a tracker without a position. */
export function createCommitTracker(options: CommitTrackerOptions): CommitTracker {
  const { keys, follower, formats, onNodeKey, onHead, stop } = options;
  let position: Position | undefined;
  let lastPosition: Position | undefined;
  let expected: OwnCommit | undefined;
  let hasDiverged = false;

  const breakOff = (reason: string, diverged = false): void => {
    if (position === undefined) return;
    position = undefined;
    hasDiverged = diverged;
    stop();
    follower.onBreak(reason);
  };

  const advance = (next: Position, operations: readonly Operation[], own: boolean): void => {
    if (position === undefined) return;
    const reason = discontinuity(position.record, next.record);
    if (reason !== undefined) {
      breakOff(reason);
      return;
    }
    position = next;
    lastPosition = next;
    onHead(next.record);
    follower.onCommit({ index: next.record.index, operations, own });
  };

  return {
    position: () => position,
    lastPosition: () => lastPosition,
    start(next) {
      position = next;
      lastPosition = next;
      onHead(next.record);
      hasDiverged = false;
    },
    hasDiverged: () => hasDiverged,
    expectOwn(own) {
      expected = own;
    },
    ownCommitted(own, revision) {
      if (position === undefined || revision <= position.modRevision) return;
      advance({ record: own.record, encoded: own.encoded, modRevision: revision }, own.operations, true);
    },
    compareHead(begun, read) {
      if (position?.record.epoch !== begun.record.epoch) return;
      const reason = read === undefined ? 'the head is missing in etcd' : regression(begun, read);
      if (reason !== undefined) breakOff(reason, read?.record.epoch === begun.record.epoch);
    },
    break: breakOff,
    apply(revision) {
      if (position === undefined) return;
      const commit = readRevision(keys, revision, position, expected, onNodeKey);
      if (commit === undefined) return;
      if (commit.head.type === Event_Type.DELETE || commit.head.kv === undefined) {
        breakOff('the head was deleted in etcd');
        return;
      }
      const { own } = commit;
      const next = tryDecodePosition(commit.head.kv, formats);
      if (typeof next === 'string') {
        breakOff(next);
        return;
      }
      advance(next, own?.operations ?? commit.operations, own !== undefined);
      own?.onSeen(revision.revision);
    },
  };
}

/** Returns the position or the reason why it cannot be followed. The next load reports that reason to the operator. */
function tryDecodePosition(kv: KeyValue, formats: TableFormats): Position | string {
  try {
    const position = decodePosition(kv);
    checkRowFormats(position.record, formats);
    return position;
  } catch (error) {
    return String(error);
  }
}

interface RevisionCommit {
  readonly head: Event;
  readonly operations: readonly Operation[];
  readonly own: OwnCommit | undefined;
}

/**
 * Separates the events of one revision by kind. It skips the rows, which come last, of an own commit and of a commit
 * that was already delivered. Returns undefined if the revision does not move the position.
 */
function readRevision(
  keys: Keys,
  { revision, events }: RevisionEvents,
  { record, modRevision }: Position,
  expected: OwnCommit | undefined,
  onNodeKey: OnNodeKey,
): RevisionCommit | undefined {
  const known = revision <= modRevision;
  const operations: Operation[] = [];
  let head: Event | undefined;
  let own: OwnCommit | undefined;
  for (const event of events) {
    const key = keys.parse(event.kv?.key ?? NO_KEY);
    if (key.kind === 'row' && (known || own !== undefined)) break;
    if (key.kind === 'head') head = event;
    else if (key.kind === 'writer' && isWriterOf(expected, key.incarnation, event)) own = expected;
    else if (key.kind !== 'row') onNodeKey(key, event);
    else if (key.generation === record.generation) operations.push(toOperation(key, event));
  }
  return head === undefined || known ? undefined : { head, operations, own };
}

const NO_KEY = new Uint8Array();

function isWriterOf(own: OwnCommit | undefined, incarnation: string, { kv }: Event): boolean {
  return own !== undefined && own.incarnation === incarnation && kv !== undefined && decodeUtf8(kv.value) === own.batch;
}

function toOperation({ table, key }: ParsedKey & { kind: 'row' }, { type, kv }: Event): Operation {
  return { table, key, value: type === Event_Type.DELETE || kv === undefined ? null : decodeUtf8(kv.value) };
}

/** Returns why `to` does not directly follow `from`, or undefined if it does [ETCD-51]. */
function discontinuity(from: HeadRecord, to: HeadRecord): string | undefined {
  if (to.cluster !== from.cluster) return `etcd contains another cluster: ${to.cluster} instead of ${from.cluster}`;
  if (to.epoch !== from.epoch) return `the epoch changed from ${from.epoch} to ${to.epoch}`;
  if (to.generation !== from.generation) return `the rows were replaced by an import (${to.generation})`;
  if (to.index !== from.index + 1) return `commit ${to.index} came after ${from.index}`;
  return undefined;
}

/** Returns why a head that was read later does not equal the position or lie ahead of it, or undefined if it does. */
function regression({ record: from, modRevision, encoded }: Position, read: Position): string | undefined {
  const { record: to } = read;
  if (to.cluster !== from.cluster || to.epoch !== from.epoch || to.generation !== from.generation) {
    return discontinuity(from, to);
  }
  if (to.index < from.index || read.modRevision < modRevision) {
    return `the head went back from index ${from.index} to ${to.index}: etcd was restored from a snapshot`;
  }
  if (read.modRevision === modRevision && read.encoded !== encoded)
    return 'the head is a different one: etcd was restored from a snapshot';
  return undefined;
}
