/** An opened engine with a follower that records everything it receives, for the contract tests. */
import type {
  CommittedChange,
  Engine,
  Head,
  LiveNode,
  Operation,
  StoredRow,
} from '../../../src/state/engine/engine.ts';
import { until } from '../until.ts';

/** Time after which a test that waits for an engine fails. */
const TEST_TIMEOUT_MS = 20_000;

export interface EngineNode extends AsyncDisposable {
  readonly engine: Engine;
  readonly name: string;
  /** The commits delivered since the last load, in order. */
  readonly commits: CommittedChange[];
  readonly breaks: string[];
  readonly fatal: Error[];
  /** The last value that `onLiveNodes` received; empty before the first. */
  liveNodes(): readonly LiveNode[];
  /** `node/slot` → value. */
  readonly statuses: Map<string, string>;
  /** `table/key` → value, from the last load and the commits after it. */
  readonly rows: ReadonlyMap<string, string>;
  /** The head of the last load, advanced by the commits after it. */
  head(): Head;
  load(floor?: Head): Promise<Head>;
  /** Makes one attempt to commit on the followed head. */
  commit(operations: readonly Operation[]): Promise<'committed' | 'conflict'>;
}

export interface NodeSettings {
  readonly name?: string;
  readonly storeOnly?: readonly string[];
  readonly formats?: Readonly<Record<string, number>>;
}

/** Returns an operation on table `t`. */
export const put = (key: string, value: string, table = 't'): Operation => ({ table, key, value });
export const remove = (key: string, table = 't'): Operation => ({ table, key, value: null });

/** Returns a signal that aborts after the test timeout. */
export const testTimeout = (): AbortSignal => AbortSignal.timeout(TEST_TIMEOUT_MS);

/** Opens an engine. The caller calls `load`. */
export async function openNode(engine: Engine, settings: NodeSettings = {}): Promise<EngineNode> {
  const { name = 'a', storeOnly = [], formats = { t: 1 } } = settings;
  const commits: CommittedChange[] = [];
  const breaks: string[] = [];
  const fatal: Error[] = [];
  const statuses = new Map<string, string>();
  const rows = new Map<string, string>();
  let liveNodes: readonly LiveNode[] = [];
  let head: Head | undefined;

  const node: EngineNode = {
    engine,
    name,
    commits,
    breaks,
    fatal,
    statuses,
    rows,
    liveNodes: () => liveNodes,
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
      head = await engine.load(page, () => loaded.clear(), floor, testTimeout());
      rows.clear();
      for (const [key, value] of loaded) rows.set(key, value);
      for (const { operations } of commits) apply(operations);
      return head;
    },
    commit(operations) {
      const { epoch, index: base } = node.head();
      return engine.commit({ epoch, base, operations }, testTimeout());
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
      onLiveNodes(next) {
        liveNodes = next;
      },
      onFormats: () => undefined,
      onStatus(from, slot, value) {
        if (value === null) statuses.delete(`${from}/${slot}`);
        else statuses.set(`${from}/${slot}`, value);
      },
      onFatal: (error) => void fatal.push(error),
    },
    testTimeout(),
  );
  return node;
}

/** Opens and loads an engine. */
export async function openLoadedNode(engine: Engine, settings?: NodeSettings): Promise<EngineNode> {
  const node = await openNode(engine, settings);
  await node.load();
  return node;
}

/** Commits on the current head, again after each conflict, as the state does. */
export async function commitWithRetries(node: EngineNode, operations: readonly Operation[]): Promise<number> {
  for (;;) {
    const base = node.head().index;
    if ((await node.commit(operations)) === 'committed') return base + 1;
    await until('the winner of a conflict is delivered', () => node.head().index > base);
  }
}
