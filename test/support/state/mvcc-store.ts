/** A multi-version key-value store like etcd's: every change has a revision, and past revisions can be read. */

/** One version of a key. `value: undefined` means that the key was deleted. */
export interface Version {
  readonly created: bigint;
  readonly modified: bigint;
  readonly version: bigint;
  readonly value: Uint8Array | undefined;
  readonly lease: bigint;
}

export interface KeyVersion extends Version {
  /** The bytes of the key, one character for each byte, so that keys sort in byte order. */
  readonly key: string;
}

/** All changes of one revision. */
export interface Revision {
  readonly revision: bigint;
  readonly events: readonly KeyVersion[];
}

/** A put, or a deletion if `value` is undefined. */
export interface Change {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  readonly lease: bigint;
}

/** A complete copy of a store, to restore later. */
export interface StoreBackup {
  readonly revision: bigint;
  readonly compacted: bigint;
  readonly versions: ReadonlyMap<string, readonly Version[]>;
  readonly log: readonly Revision[];
}

export interface MvccStore {
  readonly revision: bigint;
  /** The lowest revision that can still be read. */
  readonly compacted: bigint;
  /** Returns a key at a revision, undefined if it did not exist. */
  get(key: string, revision: bigint): KeyVersion | undefined;
  /** Returns the keys from `from` to `end` (exclusive) at a revision in order; only `from` if `end` is undefined. */
  range(from: string, end: string | undefined, revision: bigint): KeyVersion[];
  /** Makes one revision of all changes. Makes none if every change deletes a missing key. */
  write(changes: readonly Change[]): void;
  /** Returns the revisions from a given one on. */
  since(revision: bigint): readonly Revision[];
  compact(revision: bigint): void;
  backup(): StoreBackup;
  restore(backup: StoreBackup): void;
  /** Calls `callback` after each revision. @returns a function that removes the callback */
  onRevision(callback: () => void): () => void;
}

export function createMvccStore(): MvccStore {
  let revision = 1n;
  let compacted = 0n;
  let versions = new Map<string, Version[]>();
  let log: Revision[] = [];
  const listeners = new Set<() => void>();

  const get = (key: string, at: bigint): KeyVersion | undefined => {
    const found = versions.get(key)?.findLast(({ modified }) => modified <= at);
    return found?.value === undefined ? undefined : { key, ...found };
  };

  return {
    get revision() {
      return revision;
    },
    get compacted() {
      return compacted;
    },
    get,
    range(from, end, at) {
      const keys =
        end === undefined ? [from] : [...versions.keys()].filter((key) => key >= from && key < end).toSorted();
      return keys.map((key) => get(key, at)).filter((found) => found !== undefined);
    },
    write(changes) {
      const next = revision + 1n;
      const events: KeyVersion[] = [];
      for (const { key, value, lease } of changes) {
        const before = get(key, revision);
        if (before === undefined && value === undefined) continue;
        const kept = value !== undefined && before !== undefined;
        const version = {
          created: kept ? before.created : next,
          version: kept ? before.version + 1n : 1n,
          modified: next,
          value,
          lease,
        };
        versions.set(key, [...(versions.get(key) ?? []), version]);
        events.push({ key, ...version });
      }
      if (events.length === 0) return;
      revision = next;
      log.push({ revision, events });
      for (const listener of [...listeners]) listener();
    },
    since: (from) => log.filter((each) => each.revision >= from),
    compact(at) {
      compacted = at;
      log = log.filter((each) => each.revision >= at);
    },
    backup: () => structuredClone({ revision, compacted, versions, log }),
    restore(backup) {
      const copy = structuredClone(backup);
      ({ revision, compacted } = backup);
      versions = new Map([...copy.versions].map(([key, list]) => [key, [...list]]));
      log = [...copy.log];
    },
    onRevision(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  };
}
