/**
 * The contract between the state and the store below it [STATE-100].
 *
 * An engine stores keys, values, and one head. It knows no tables, indexes, or waiters. It makes four promises, which
 * `contract.suite.ts` and `shared-store.suite.ts` check on every engine:
 *
 * 1. A commit is all or nothing, durable before `commit` returns `committed`, and made only on the head it names.
 * 2. The follower receives every commit exactly once, in the order of the indexes, own commits included.
 * 3. `head` returns a head that was current at some moment after the call began (a linearizable read).
 * 4. A gap in the delivery is reported by `onBreak`, and the next `load` starts from a consistent state.
 *
 * Rejected alternatives: queries in the engine (every read would be a round trip), one guard for each row (etcd rejects
 * more than 128 compares), and an elected leader (the guard already decides which commit wins).
 */

/** One version of the store. `index` counts commits; `epoch` rises when the history does not continue [STATE-11]. */
export interface Head {
  readonly cluster: string;
  readonly epoch: number;
  readonly index: number;
}

/** Distance by which a change of epoch raises the index, so that clients never see it fall [STATE-15]. */
export const EPOCH_STEP = 2 ** 32;

/**
 * The final operation of a commit on one key. `value: null` removes the key, which may be missing.
 * A key is well-formed text without NUL. A value is JSON, so it is never empty and contains no NUL.
 */
export interface Operation {
  readonly table: string;
  readonly key: string;
  readonly value: string | null;
}

export interface StoredRow {
  readonly table: string;
  readonly key: string;
  readonly value: string;
}

/** A row that a scan reads. A value of `null` means that the store has found the row damaged. */
export interface ScannedRow {
  readonly table: string;
  readonly key: string;
  readonly value: string | null;
}

/** A requested change. It is valid only while the head is (`epoch`, `base`), and it becomes index `base + 1`. */
export interface Commit {
  readonly epoch: number;
  readonly base: number;
  /** At most one operation for each key, within `limits.operationsMax` and `limits.bytesMax` (keys and values). */
  readonly operations: readonly Operation[];
  /** The newest formats of the rows. A shared store keeps them, so that no server that reads less joins [ETCD-90]. */
  readonly formats?: TableFormats;
}

export interface CommittedChange {
  readonly index: number;
  /** A foreign commit may lack removals of keys that were missing, because etcd sends no event for them [ETCD-47]. */
  readonly operations: readonly Operation[];
  /** Whether this engine object made the commit. The state then already has the resulting tables. */
  readonly own: boolean;
}

export interface LiveNode {
  readonly name: string;
  readonly incarnation: string;
}

/** A row format for each table, by the name of the table. */
export type TableFormats = Readonly<Record<string, number>>;

/** The limits of one commit. `hint` tells an operator how to raise them. */
export interface CommitLimits {
  readonly operationsMax: number;
  readonly bytesMax: number;
  readonly hint: string;
}

/** The room in the store, in bytes. Callers stop at the reserves, so that removals still fit [STATE-119]. */
export interface StoreSpace {
  readonly freeBytes: number;
  /** Below it, only operators and the server itself add to the store. */
  readonly reserveBytes: number;
  /** Below it, callers only remove. */
  readonly removalBytes: number;
  /** The limit of the store and the remedy, for errors. */
  readonly reason: string;
}

/** The receiver of the engine's events. An engine method never calls it before it has returned its promise. */
export interface Follower {
  /** Delivers commits in index order without gaps, from the loaded head on. Own ones precede `commit`'s result. */
  onCommit(change: CommittedChange): void;
  /** Reports a gap (compaction, another cluster, a head that went back). No commit follows until the next `load`. */
  onBreak(reason: string): void;
  /** Reports the live nodes after every change. This node is missing while its lease is lost. */
  onLiveNodes(nodes: readonly LiveNode[]): void;
  /** Reports, after every change, the newest row formats that all servers read which are live or may return [STATE-29]. */
  onFormats(formats: TableFormats): void;
  /** Reports a status row of another node. `null` means that the row or its node is gone. */
  onStatus(node: string, slot: string, value: string | null): void;
  /** Reports an error after which continuing could lose data. The process must end. */
  onFatal(error: Error): void;
}

/** This process as the engine presents it to the cluster. */
export interface NodeIdentity {
  readonly node: string;
  /** The newest row formats that this version reads. */
  readonly formats: TableFormats;
  /** Tables that `load` skips and only `scan` reads. */
  readonly storeOnly: ReadonlySet<string>;
}

/** A range of keys of one table in byte order. `from` is inclusive, `to` exclusive; `reverse` starts at the end. */
export interface ScanRange {
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
  readonly reverse?: boolean;
}

export interface Engine extends AsyncDisposable {
  readonly kind: string;
  /** Whether no other process can commit. Memory then always holds the head, and a barrier costs nothing. */
  readonly exclusive: boolean;
  readonly limits: CommitLimits;

  /**
   * Connects, creates the head of an empty store, and joins the cluster. Called once, before any other method. Waits
   * for a store that does not answer until `signal` aborts.
   * @throws StateError `unavailable` | `locked` | `corrupt` | `name-taken`
   */
  open(identity: NodeIdentity, follower: Follower, signal: AbortSignal): Promise<void>;

  /**
   * Reads all rows of one head in pages, except store-only tables, and awaits each `page` before it sends the next.
   * Calls `restart` when it has to start over; the caller then discards the pages it received.
   * `onCommit` continues from the returned head, possibly before the caller's continuation runs.
   * @param floor the highest epoch and index that this process has served. An older store is moved to a
   *   new epoch, with an index above the floor, before it is read.
   */
  load(
    page: (rows: readonly StoredRow[]) => Promise<void>,
    restart: () => void,
    floor: Head | undefined,
    signal: AbortSignal,
  ): Promise<Head>;

  /**
   * Makes a commit. The caller makes one at a time. Returns only when the outcome is known, and resolves ambiguous
   * failures itself. `conflict` means that another commit has changed the head: this one failed and can never succeed,
   * and the follower receives the commits that won.
   * @throws StateError `full`, `too-large`, `unavailable`: nothing was committed. `outcome-unknown`: `signal` aborted
   *   before the outcome was known, or the store cannot report it.
   */
  commit(commit: Commit, signal: AbortSignal): Promise<'committed' | 'conflict'>;

  /**
   * Asks the other nodes to commit nothing for a few seconds, until this node has made its next commit or `released`
   * aborts. A hint, for a commit that takes long to prepare. Absent on an exclusive engine.
   */
  reserve?(released: AbortSignal): void;

  /** Reads the head with linearizable consistency. @throws StateError `unavailable` */
  head(signal: AbortSignal): Promise<Head>;

  /** Reads one range of any table from the store, in key order. @throws StateError `unavailable` | `corrupt` */
  scan(table: string, range: ScanRange, signal: AbortSignal): Promise<readonly ScannedRow[]>;

  /** Fills an empty store atomically, between `open` and the first `load`. @throws StateError `not-empty` */
  import(head: Head, pages: AsyncIterable<readonly StoredRow[]>, signal: AbortSignal): Promise<void>;

  /** Sets a status row of this node, or removes it with `null`. The row lives as long as the lease [STATE-90]. */
  publish(slot: string, value: string | null): void;

  /** Maintains the store (compaction) until `signal` aborts. Runs as a background job on one node. */
  housekeep?(signal: AbortSignal): Promise<void>;

  /** Returns the room in the store, or `undefined` if the store does not tell, which can change. @throws StateError `unavailable` */
  space(signal: AbortSignal): Promise<StoreSpace | undefined>;

  /** Returns the milliseconds since the store last answered; 0 for an exclusive engine. */
  lastContactMs(): number;
}
