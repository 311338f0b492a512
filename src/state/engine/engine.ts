/**
 * The contract between the state and the store under it.
 *
 * An engine keeps keys and values, one head, and nothing else: it knows no tables, no indexes, no waiting.
 * It promises four things, and `contract.suite.ts` checks each of them on every engine:
 *
 * 1. A commit is all or nothing, durable once `commit` answers `committed`, and made only on the head it names.
 * 2. Commits are delivered to the follower in the order of their index, each exactly once, own ones included.
 * 3. `head` tells a head that was current at some moment after the call began (a linearizable read).
 * 4. What cannot be delivered gap-free is announced by `onBreak`, and `load` begins again from a consistent picture.
 *
 * Options refused: queries in the engine (every read would be a round trip), guards by row (etcd refuses more than
 * 128 compares), an elected leader (the guard already decides).
 */

/** Names one state of the store. `index` counts commits; `epoch` changes when history was cut; `cluster` is a UUID. */
export interface Head {
  readonly cluster: string;
  readonly epoch: number;
  readonly index: number;
}

/** How far one change of epoch moves the index: past anything that was served before (state of the old epoch included). */
export const EPOCH_STEP = 2 ** 32;

/**
 * The one final operation of a commit on a key; `value: null` removes the key, which need not exist.
 * A key is well-formed text without NUL; a value is JSON, so that it has no NUL either and is never empty.
 */
export interface Operation {
  readonly table: string;
  readonly key: string;
  readonly value: string | null;
}

/** A stored key with its value. */
export interface StoredRow {
  readonly table: string;
  readonly key: string;
  readonly value: string;
}

/** A change to make: valid only while the head is (`epoch`, `base`); it becomes index `base + 1`. */
export interface Commit {
  readonly epoch: number;
  readonly base: number;
  /** No (table, key) twice; at most `limits.operationsMax` of them and `limits.bytesMax` bytes of keys and values. */
  readonly operations: readonly Operation[];
}

/** A commit as the follower sees it. */
export interface CommittedChange {
  readonly index: number;
  /** Of a foreign commit, removals of keys that were not there may be missing: etcd sends no event for them. */
  readonly operations: readonly Operation[];
  /** Made by this engine object: the follower holds its outcome already. */
  readonly own: boolean;
}

/** A live node of the cluster. `formats` says, by table, the newest row format that it reads. */
export interface Member {
  readonly name: string;
  readonly incarnation: string;
  readonly formats: Readonly<Record<string, number>>;
}

/** Limits of one commit, and the words that tell an operator how to raise them. */
export interface CommitLimits {
  readonly operationsMax: number;
  readonly bytesMax: number;
  readonly hint: string;
}

/** What the engine tells the state. Calls are synchronous, never re-entrant from within an engine method's own call. */
export interface Follower {
  /** In index order without gaps after the head that the last `load` returned, and before `commit` resolves for own ones. */
  onCommit(change: CommittedChange): void;
  /** Continuity is lost (compaction, another cluster, a head that went back). Nothing more comes before `load`. */
  onBreak(reason: string): void;
  /** The live nodes, whenever they change. This node is missing while its lease is lost. */
  onMembers(members: readonly Member[]): void;
  /** A status row of another node changed; `null` when it or its node is gone. */
  onStatus(node: string, slot: string, value: string | null): void;
  /** The engine cannot go on (data may be lost if it did): the process must end. */
  onFatal(error: Error): void;
}

/** What the engine is told about this process. */
export interface Identity {
  readonly node: string;
  readonly formats: Readonly<Record<string, number>>;
  /** Tables that `load` leaves out: read by `scan` only. */
  readonly storeOnly: ReadonlySet<string>;
}

/** A range of keys of one table: `from` inclusive, `to` exclusive, byte order; `reverse` starts at the end. */
export interface ScanRange {
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
  readonly reverse?: boolean;
}

export interface Engine extends AsyncDisposable {
  readonly kind: string;
  /** No other process can commit: memory is the head, so a barrier is free. */
  readonly exclusive: boolean;
  readonly limits: CommitLimits;

  /**
   * Connects, makes the head if the store is empty, and joins as a node. Called once, before anything else; waits for a
   * store that is not there yet until `signal` aborts.
   * @throws StateError `unavailable` | `locked` | `corrupt` | `name-taken`
   */
  open(identity: Identity, follower: Follower, signal: AbortSignal): Promise<void>;

  /**
   * Reads everything but store-only tables as of one head, in pages; awaits each `page` before it sends the next.
   * Where it has to begin again, it calls `restart`: what was delivered before counts no more.
   * From then on `onCommit` continues that head (calls may come before the promise's continuation has run).
   * @param floor the highest (epoch, index) that this process has served: a store that went back behind it is moved to
   *   a new epoch, at an index above it, before it is read
   */
  load(
    page: (rows: readonly StoredRow[]) => Promise<void>,
    restart: () => void,
    floor: Head | undefined,
    signal: AbortSignal,
  ): Promise<Head>;

  /**
   * Makes a commit. One at a time. Ambiguous failures are resolved inside: it never answers before it knows.
   * `conflict` means that the head moved and this commit was not and never will be made; the moves reach the follower.
   * @throws StateError `full`, `too-large`, `unavailable` (definite: not made); anything else goes to `onFatal` or is
   *   retried inside until `signal` aborts, when it throws `outcome-unknown`
   */
  commit(commit: Commit, signal: AbortSignal): Promise<'committed' | 'conflict'>;

  /** A linearizable read of the head. @throws StateError `unavailable` */
  head(signal: AbortSignal): Promise<Head>;

  /** Reads one range of any table from the store, in key order. @throws StateError `unavailable` */
  scan(table: string, range: ScanRange, signal: AbortSignal): Promise<readonly StoredRow[]>;

  /**
   * Fills an empty store in one step that is all or nothing and makes its head `head`.
   * Called between `open` and the first `load`. @throws StateError `not-empty`
   */
  import(head: Head, pages: AsyncIterable<readonly StoredRow[]>, signal: AbortSignal): Promise<void>;

  /** Sets (or with `null` removes) a status row of this node: kept while its lease lives, put again after it was lost. */
  publish(slot: string, value: string | null): void;

  /**
   * What the store needs from time to time (compaction); runs as a background job on one node until `signal` aborts.
   */
  housekeep?(signal: AbortSignal): Promise<void>;

  /** Milliseconds since the store last answered (0 when nothing can come between). */
  lastContactMs(): number;
}
