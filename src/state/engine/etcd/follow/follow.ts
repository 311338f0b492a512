/**
 * Keeps the position: which commit was delivered last. Everything that can move it comes through here (events of the
 * watch, answers to our own commits, heads that were read), so that each commit is delivered once and in order.
 *
 * An own commit may be seen in the watch before its answer arrives, or after: whichever is first delivers it.
 */
import type { Follower, Operation } from '../../engine.ts';
import { type Event, Event_Type, type KeyValue } from '../client/gen/etcd_pb.ts';
import { type HeadRecord, type Position, readPosition } from '../head-record.ts';
import { type Keys, type ParsedKey, text } from '../keys.ts';

/** A commit of this engine whose outcome is not known yet. */
export interface OwnCommit {
  readonly incarnation: string;
  /** Value of its writer key: the number of the batch. */
  readonly batch: string;
  readonly operations: readonly Operation[];
  /** The head that it makes. */
  readonly record: HeadRecord;
  readonly text: string;
  /** It was seen in the watch. */
  readonly onSeen: (revision: bigint) => void;
}

/** All events of one revision. */
export interface RevisionEvents {
  readonly revision: bigint;
  readonly events: readonly Event[];
}

/** Receives the leased keys: nodes, tickets, status rows. */
export type ObserveLeased = (key: ParsedKey, event: Event) => void;

export interface Following {
  /** Undefined before the first load and after a break. */
  position(): Position | undefined;
  /** The position, or after a break the one it had: what a commit that was prepared on it is guarded by all the same. */
  held(): Position | undefined;
  begin(position: Position): void;
  apply(revision: RevisionEvents): void;
  /** Tells which own commit is under way; undefined when none is. */
  expect(own: OwnCommit | undefined): void;
  /** The store answered that `own` was made at `revision`. */
  made(own: OwnCommit, revision: bigint): void;
  /** Compares a head that was read (undefined: there is none) with the position when reading began. */
  compare(begun: Position, read: Position | undefined): void;
  /** `diverged`: the store is known to hold another history than the one that was followed. */
  break(reason: string, diverged?: boolean): void;
  /** Whether the last break was such a one; until the next `begin`. */
  diverged(): boolean;
}

/** Starts without a position; `stop` is called at a break, before the follower hears of it. */
export function createFollowing(keys: Keys, follower: Follower, observe: ObserveLeased, stop: () => void): Following {
  let position: Position | undefined;
  let held: Position | undefined;
  let expected: OwnCommit | undefined;
  let diverged = false;

  const breakOff = (reason: string, otherHistory = false): void => {
    if (position === undefined) return;
    position = undefined;
    diverged = otherHistory;
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
    held = next;
    follower.onCommit({ index: next.record.index, operations, own });
  };

  return {
    position: () => position,
    held: () => held,
    begin(next) {
      position = next;
      held = next;
      diverged = false;
    },
    diverged: () => diverged,
    expect(own) {
      expected = own;
    },
    made(own, revision) {
      if (position === undefined || revision <= position.modRevision) return;
      advance({ record: own.record, text: own.text, modRevision: revision }, own.operations, true);
    },
    compare(begun, read) {
      if (position?.record.epoch !== begun.record.epoch) return;
      const reason = read === undefined ? 'the head is gone from etcd' : wentBack(begun, read);
      if (reason !== undefined) breakOff(reason, read?.record.epoch === begun.record.epoch);
    },
    break: breakOff,
    apply(revision) {
      if (position === undefined) return;
      const commit = sortEvents(keys, revision, position, expected, observe);
      if (commit === undefined) return;
      if (commit.head.type === Event_Type.DELETE || commit.head.kv === undefined) {
        breakOff('the head was removed from etcd');
        return;
      }
      const { own } = commit;
      const next = tryReadPosition(commit.head.kv);
      if (typeof next === 'string') {
        breakOff(next);
        return;
      }
      advance(next, own?.operations ?? commit.operations, own !== undefined);
      own?.onSeen(revision.revision);
    },
  };
}

/** A head that cannot be read (a newer program's) is a reason to stop; the load that follows says so to the operator. */
function tryReadPosition(kv: KeyValue): Position | string {
  try {
    return readPosition(kv);
  } catch (error) {
    return String(error);
  }
}

interface SeenCommit {
  readonly head: Event;
  readonly operations: readonly Operation[];
  readonly own: OwnCommit | undefined;
}

/**
 * Takes the events of one revision apart. Of an own commit, and of one that was delivered already, the rows (which
 * come last) are not looked at. Undefined: nothing that moves the position.
 */
function sortEvents(
  keys: Keys,
  { revision, events }: RevisionEvents,
  { record, modRevision }: Position,
  expected: OwnCommit | undefined,
  observe: ObserveLeased,
): SeenCommit | undefined {
  const known = revision <= modRevision;
  const operations: Operation[] = [];
  let head: Event | undefined;
  let own: OwnCommit | undefined;
  for (const event of events) {
    const key = keys.parse(event.kv?.key ?? NO_KEY);
    if (key.kind === 'row' && (known || own !== undefined)) break;
    if (key.kind === 'head') head = event;
    else if (key.kind === 'writer' && isWriterOf(expected, key.incarnation, event)) own = expected;
    else if (key.kind !== 'row') observe(key, event);
    else if (key.generation === record.generation) operations.push(operationOf(key, event));
  }
  return head === undefined || known ? undefined : { head, operations, own };
}

const NO_KEY = new Uint8Array();

function isWriterOf(own: OwnCommit | undefined, incarnation: string, { kv }: Event): boolean {
  return own !== undefined && own.incarnation === incarnation && kv !== undefined && text(kv.value) === own.batch;
}

function operationOf({ table, key }: ParsedKey & { kind: 'row' }, { type, kv }: Event): Operation {
  return { table, key, value: type === Event_Type.DELETE || kv === undefined ? null : text(kv.value) };
}

function discontinuity(from: HeadRecord, to: HeadRecord): string | undefined {
  if (to.cluster !== from.cluster) return `another cluster stands in etcd: ${to.cluster} instead of ${from.cluster}`;
  if (to.epoch !== from.epoch) return `history was cut: epoch ${from.epoch} became ${to.epoch}`;
  if (to.generation !== from.generation) return `the rows were replaced by an import (${to.generation})`;
  if (to.index !== from.index + 1) return `commit ${to.index} came after ${from.index}`;
  return undefined;
}

/** A head that was read after we held `from` may only lie ahead of it. */
function wentBack({ record: from, modRevision, text: held }: Position, read: Position): string | undefined {
  const { record: to } = read;
  if (to.cluster !== from.cluster || to.epoch !== from.epoch || to.generation !== from.generation) {
    return discontinuity(from, to);
  }
  if (to.index < from.index || read.modRevision < modRevision) {
    return `the head went back from index ${from.index} to ${to.index}: etcd was restored from a snapshot`;
  }
  if (read.modRevision === modRevision && read.text !== held) return 'the head is another one: etcd was restored';
  return undefined;
}
