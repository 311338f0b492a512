/** Keys with all their versions, as etcd keeps them: every change has a revision, and any past one can be read. */

/** One version of a key; `value: undefined` says that it was deleted. */
export interface Version {
  readonly created: bigint;
  readonly modified: bigint;
  readonly version: bigint;
  readonly value: Uint8Array | undefined;
  readonly lease: bigint;
}

export interface KeyVersion extends Version {
  /** The bytes of the key, one character each: such texts sort as the bytes do. */
  readonly key: string;
}

/** What one revision changed. */
export interface Revision {
  readonly revision: bigint;
  readonly events: readonly KeyVersion[];
}

/** A put, or with `value: undefined` a deletion. */
export interface Change {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  readonly lease: bigint;
}

/** Everything of a store, to be put back later. */
export interface StoreImage {
  readonly revision: bigint;
  readonly compacted: bigint;
  readonly versions: ReadonlyMap<string, readonly Version[]>;
  readonly log: readonly Revision[];
}

export interface MvccStore {
  readonly revision: bigint;
  /** Revisions below it cannot be read any more. */
  readonly compacted: bigint;
  /** The living version of a key as of a revision. */
  get(key: string, revision: bigint): KeyVersion | undefined;
  /** Living keys from `from` to `end` (exclusive; `undefined`: `from` alone) as of a revision, in order. */
  range(from: string, end: string | undefined, revision: bigint): KeyVersion[];
  /** Makes one revision of all changes; none when deletions find nothing. */
  write(changes: readonly Change[]): void;
  /** What changed from a revision on. */
  since(revision: bigint): readonly Revision[];
  compact(revision: bigint): void;
  image(): StoreImage;
  restore(image: StoreImage): void;
  /** Calls back after each revision. @returns ends it */
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
    image: () => structuredClone({ revision, compacted, versions, log }),
    restore(image) {
      const copy = structuredClone(image);
      ({ revision, compacted } = image);
      versions = new Map([...copy.versions].map(([key, list]) => [key, [...list]]));
      log = [...copy.log];
    },
    onRevision(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  };
}
