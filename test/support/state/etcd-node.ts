/** An etcd engine with a follower that records everything it receives and keeps the rows, as the state does. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/state/clock/clock.ts';
import type {
  CommittedChange,
  Engine,
  Head,
  LiveNode,
  Operation,
  StoredRow,
  TableFormats,
} from '../../../src/state/engine/engine.ts';
import type { EtcdEngineOptions } from '../../../src/state/engine/etcd/client/options.ts';
import { etcdEngine } from '../../../src/state/engine/etcd/engine.ts';
import { until } from '../until.ts';

export interface EtcdNode extends AsyncDisposable {
  readonly engine: Engine;
  /** `table/key` → value, from the last load and the commits after it. */
  readonly rows: Map<string, string>;
  /** The commits delivered since the last load began. */
  readonly commits: readonly CommittedChange[];
  readonly breaks: readonly string[];
  readonly liveNodes: readonly LiveNode[];
  /** The last value that `onFormats` received. */
  readonly formats: TableFormats;
  /** `node/slot` → value. */
  readonly statuses: Map<string, string>;
  readonly fatal: Error | undefined;
  readonly log: readonly string[];
  /** The head of the last load, advanced by the commits after it. */
  readonly head: Head;
  /** Every index that the head had, in order. */
  readonly indexes: readonly number[];
  /** Loads the state with the current head as the floor. */
  load(): Promise<Head>;
  /** Makes one attempt to commit on the current head. */
  commit(operations: readonly Operation[], signal?: AbortSignal): Promise<'committed' | 'conflict'>;
  /** Commits on the current head, and after each conflict again when the winner is delivered. */
  write(operations: (rows: ReadonlyMap<string, string>) => readonly Operation[]): Promise<void>;
  /** Makes the node load again after each break, as the state does. */
  reloadAfterBreaks(): void;
}

/** A node whose test calls `open`. */
export interface UnopenedEtcdNode extends EtcdNode {
  open(signal?: AbortSignal): Promise<void>;
}

/** Settings of a node. Every missing one has a default. */
export type EtcdNodeSettings = Partial<EtcdEngineOptions> & {
  readonly endpoints: readonly string[];
  readonly name?: string;
  readonly storeOnly?: readonly string[];
  /** The newest row formats that the node reads. Default: 1 for the table `t`. */
  readonly readable?: TableFormats;
};

/** Returns an operation on table `t`. */
export function put(key: string, value: string | null, table = 't'): Operation {
  return { table, key, value };
}

/** Adds the defaults to the options of a test. */
export function testOptions(
  settings: Partial<EtcdEngineOptions> & { readonly endpoints: readonly string[] },
): EtcdEngineOptions {
  return {
    prefix: 'accord/',
    maxTxnOps: 128,
    maxTxnBytes: 1024 * 1024,
    quotaBytes: 2 ** 31,
    compactMs: 'off',
    leaseMs: 10_000,
    clock: systemClock,
    id: randomUUID,
    log: () => {},
    ...settings,
  };
}

/** Creates an engine with default options. */
export function testEngine(settings: Partial<EtcdEngineOptions> & { readonly endpoints: readonly string[] }): Engine {
  return etcdEngine(testOptions(settings));
}

/** Opens and loads a node. Fails after 20 s. */
export async function openEtcdNode(settings: EtcdNodeSettings): Promise<EtcdNode> {
  const node = createEtcdNode(settings);
  try {
    await node.open();
    await node.load();
    return node;
  } catch (error) {
    await node[Symbol.asyncDispose]();
    throw error;
  }
}

/** Creates a node without opening it. */
export function createEtcdNode(settings: EtcdNodeSettings): UnopenedEtcdNode {
  const { name = 'a', storeOnly = [], readable = { t: 1 }, ...options } = settings;
  const log: string[] = [];
  const engine = testEngine({
    log: (level, message, fields) => void log.push(`${level} ${message} ${JSON.stringify(fields)}`),
    ...options,
  });
  const rows = new Map<string, string>();
  const statuses = new Map<string, string>();
  const indexes: number[] = [];
  let commits: CommittedChange[] = [];
  const breaks: string[] = [];
  let liveNodes: readonly LiveNode[] = [];
  let formats: TableFormats = {};
  let fatal: Error | undefined;
  let head: Head = { cluster: '', epoch: 0, index: -1 };
  let loading: Promise<Head> | undefined;
  let reloads = false;

  const apply = (change: CommittedChange): void => {
    if (change.index !== head.index + 1) throw new Error(`commit ${change.index} was delivered after ${head.index}`);
    for (const { table, key, value } of change.operations) {
      if (value === null) rows.delete(`${table}/${key}`);
      else rows.set(`${table}/${key}`, value);
    }
    head = { ...head, index: change.index };
    indexes.push(change.index);
  };

  const load = async (): Promise<Head> => {
    commits = [];
    const read = new Map<string, string>();
    const page = async (page: readonly StoredRow[]): Promise<void> => {
      for (const { table, key, value } of page) read.set(`${table}/${key}`, value);
    };
    const floor = head.index < 0 ? undefined : head;
    const loaded = await engine.load(page, () => read.clear(), floor, AbortSignal.timeout(20_000));
    rows.clear();
    for (const [key, value] of read) rows.set(key, value);
    head = loaded;
    indexes.push(loaded.index);
    loading = undefined;
    for (const early of commits) apply(early);
    return loaded;
  };

  const node = {
    engine,
    rows,
    statuses,
    breaks,
    indexes,
    log,
    get commits() {
      return commits;
    },
    get liveNodes() {
      return liveNodes;
    },
    get formats() {
      return formats;
    },
    get fatal() {
      return fatal;
    },
    get head() {
      return head;
    },
    open: (signal = AbortSignal.timeout(20_000)) =>
      engine.open(
        { node: name, formats: readable, storeOnly: new Set(storeOnly) },
        {
          onCommit(change) {
            commits.push(change);
            if (loading === undefined) apply(change);
          },
          onBreak(reason) {
            breaks.push(reason);
            if (reloads) void node.load().catch((error) => log.push(`error reload ${String(error)}`));
          },
          onLiveNodes(now) {
            liveNodes = now;
          },
          onFormats(now) {
            formats = now;
          },
          onStatus(from, slot, value) {
            if (value === null) statuses.delete(`${from}/${slot}`);
            else statuses.set(`${from}/${slot}`, value);
          },
          onFatal(error) {
            fatal = error;
          },
        },
        signal,
      ),
    load() {
      loading ??= load();
      return loading;
    },
    commit: (operations: readonly Operation[], signal = AbortSignal.timeout(20_000)) =>
      engine.commit({ epoch: head.epoch, base: head.index, operations, formats }, signal),
    async write(make: (rows: ReadonlyMap<string, string>) => readonly Operation[]) {
      for (;;) {
        await loading;
        const { index } = head;
        const broken = breaks.length;
        if ((await node.commit(make(rows))) === 'committed') return;
        await until(
          'the winner of a conflict is delivered or loaded',
          () => head.index > index || (reloads && breaks.length > broken),
        );
      }
    },
    reloadAfterBreaks() {
      reloads = true;
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
  return node;
}
