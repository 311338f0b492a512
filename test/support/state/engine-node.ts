/** A follower that keeps what its engine tells, to be compared with what the engine promised. */
import type { CommittedChange, Engine, Head, Member, Operation, StoredRow } from '../../../src/state/engine/engine.ts';
import { until } from '../until.ts';

/** How long a test waits for an engine before it fails. */
const PATIENCE_MS = 20_000;

/** One opened engine with its follower. */
export interface EngineNode extends AsyncDisposable {
  readonly engine: Engine;
  readonly name: string;
  /** Every delivery since the last load, in order. */
  readonly commits: CommittedChange[];
  readonly breaks: string[];
  readonly fatal: Error[];
  /** What `onMembers` told last; empty before. */
  members(): readonly Member[];
  /** `node/slot` → value. */
  readonly statuses: Map<string, string>;
  /** `table/key` → value, by the last load and the commits after it. */
  readonly rows: ReadonlyMap<string, string>;
  /** The head of the last load, moved on by the commits after it. */
  head(): Head;
  load(floor?: Head): Promise<Head>;
  /** Commits on the followed head. */
  commit(operations: readonly Operation[]): Promise<'committed' | 'conflict'>;
}

export interface NodeSettings {
  readonly name?: string;
  readonly storeOnly?: readonly string[];
  readonly formats?: Readonly<Record<string, number>>;
}

/** An operation on table `t`. */
export const put = (key: string, value: string, table = 't'): Operation => ({ table, key, value });
export const remove = (key: string, table = 't'): Operation => ({ table, key, value: null });

/** Aborts when a test has waited long enough. */
export const patience = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS);

/** Opens an engine; `load` is the caller's. */
export async function openNode(engine: Engine, settings: NodeSettings = {}): Promise<EngineNode> {
  const { name = 'a', storeOnly = [], formats = { t: 1 } } = settings;
  const commits: CommittedChange[] = [];
  const breaks: string[] = [];
  const fatal: Error[] = [];
  const statuses = new Map<string, string>();
  const rows = new Map<string, string>();
  let members: readonly Member[] = [];
  let head: Head | undefined;

  const node: EngineNode = {
    engine,
    name,
    commits,
    breaks,
    fatal,
    statuses,
    rows,
    members: () => members,
    head() {
      if (head === undefined) throw new Error('not loaded');
      const index = commits.at(-1)?.index ?? head.index;
      return { ...head, index: Math.max(index, head.index) };
    },
    async load(floor) {
      commits.length = 0;
      const loaded = new Map<string, string>();
      const page = async (slice: readonly StoredRow[]): Promise<void> => {
        for (const { table, key, value } of slice) {
          if (loaded.has(`${table}/${key}`)) throw new Error(`load delivered ${table}/${key} twice`);
          loaded.set(`${table}/${key}`, value);
        }
      };
      head = await engine.load(page, () => loaded.clear(), floor, patience());
      rows.clear();
      for (const [key, value] of loaded) rows.set(key, value);
      for (const { operations } of commits) apply(operations);
      return head;
    },
    commit(operations) {
      const { epoch, index: base } = node.head();
      return engine.commit({ epoch, base, operations }, patience());
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
  const apply = (operations: readonly Operation[]): void => {
    for (const { table, key, value } of operations) {
      if (value === null) rows.delete(`${table}/${key}`);
      else rows.set(`${table}/${key}`, value);
    }
  };

  const identity = { node: name, formats, storeOnly: new Set(storeOnly) };
  await engine.open(
    identity,
    {
      onCommit(change) {
        commits.push(change);
        apply(change.operations.filter(({ table }) => !identity.storeOnly.has(table)));
      },
      onBreak: (reason) => void breaks.push(reason),
      onMembers(next) {
        members = next;
      },
      onStatus(from, slot, value) {
        if (value === null) statuses.delete(`${from}/${slot}`);
        else statuses.set(`${from}/${slot}`, value);
      },
      onFatal: (error) => void fatal.push(error),
    },
    patience(),
  );
  return node;
}

/** Opens and loads. */
export async function openLoadedNode(engine: Engine, settings?: NodeSettings): Promise<EngineNode> {
  const node = await openNode(engine, settings);
  await node.load();
  return node;
}

/** Commits whatever the head is, as the state would after conflicts. */
export async function commitSurely(node: EngineNode, operations: readonly Operation[]): Promise<number> {
  for (;;) {
    const base = node.head().index;
    if ((await node.commit(operations)) === 'committed') return base + 1;
    await until('the winner of a conflict is delivered', () => node.head().index > base);
  }
}
