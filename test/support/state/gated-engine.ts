/** A real engine whose calls a test can hold or fail, to simulate a slow or unreachable store and other nodes. */
import type { Commit, Engine, Follower, LiveNode, Operation, TableFormats } from '../../../src/state/engine/engine.ts';

/** A gate that holds calls while it is closed. */
export interface Gate {
  /** Holds all later calls. */
  close(): void;
  /** Releases the held calls and lets all later ones pass. */
  open(): void;
  /** Releases the held calls and holds all later ones. */
  step(): void;
  /** Makes the next call reject with `error`. */
  failNext(error: unknown): void;
  /** Number of held calls. */
  readonly waiting: number;
  /** Number of calls so far, held ones included. */
  readonly calls: number;
}

export interface GatedEngine {
  readonly engine: Engine;
  /** Holds a commit before the store receives it. */
  readonly commit: Gate;
  /** Holds a commit after the store made it and the follower received it, before it is acknowledged. */
  readonly acknowledge: Gate;
  readonly head: Gate;
  readonly load: Gate;
  /** All requested commits. */
  readonly commits: readonly Commit[];
  /** Makes a commit as another node. */
  commitElsewhere(operations: readonly Operation[]): Promise<void>;
  /** Reports a break to the follower. */
  break(reason: string): void;
  /** Reports live nodes to the follower. */
  reportLiveNodes(nodes: readonly LiveNode[]): void;
  /** Reports the row formats that all servers read to the follower. */
  reportFormats(formats: TableFormats): void;
  /** Delivers a commit that does not exist in the store. */
  deliver(index: number): void;
}

/** Properties in which the gated engine differs from the real one. */
export interface EngineOverrides {
  /** Whether the engine is not exclusive, so that every barrier reads the head. */
  readonly shared?: boolean;
  readonly operationsMax?: number;
  readonly bytesMax?: number;
}

export function gatedEngine(
  inner: Engine,
  { shared = false, operationsMax, bytesMax }: EngineOverrides = {},
): GatedEngine {
  const commit = createGate();
  const acknowledge = createGate();
  const head = createGate();
  const load = createGate();
  const commits: Commit[] = [];
  const state: { follower?: Follower; elsewhere: boolean } = { elsewhere: false };
  const follower = (): Follower => {
    if (state.follower === undefined) throw new Error('not open');
    return state.follower;
  };
  const engine: Engine = {
    ...inner,
    kind: inner.kind,
    exclusive: inner.exclusive && !shared,
    limits: {
      operationsMax: operationsMax ?? inner.limits.operationsMax,
      bytesMax: bytesMax ?? inner.limits.bytesMax,
      hint: inner.limits.hint,
    },
    open(identity, sink, signal) {
      state.follower = {
        ...sink,
        onCommit: (change) => sink.onCommit(state.elsewhere ? { ...change, own: false } : change),
      };
      return inner.open(identity, state.follower, signal);
    },
    async load(...args) {
      await load.pass();
      return inner.load(...args);
    },
    async commit(wanted, signal) {
      commits.push(wanted);
      await commit.pass();
      const result = await inner.commit(wanted, signal);
      await acknowledge.pass();
      return result;
    },
    async head(signal) {
      await head.pass();
      return inner.head(signal);
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  return {
    engine,
    commit,
    acknowledge,
    head,
    load,
    commits,
    async commitElsewhere(operations) {
      const { signal } = new AbortController();
      const { epoch, index } = await inner.head(signal);
      state.elsewhere = true;
      const result = await inner.commit({ epoch, base: index, operations }, signal);
      state.elsewhere = false;
      if (result !== 'committed') throw new Error('another commit was in flight');
    },
    break: (reason) => follower().onBreak(reason),
    reportLiveNodes: (nodes) => follower().onLiveNodes(nodes),
    reportFormats: (formats) => follower().onFormats(formats),
    deliver: (index) => follower().onCommit({ index, operations: [], own: false }),
  };
}

interface PassableGate extends Gate {
  pass(): Promise<void>;
}

function createGate(): PassableGate {
  let closed: PromiseWithResolvers<void> | undefined;
  const failures: unknown[] = [];
  let waiting = 0;
  let calls = 0;
  return {
    close() {
      closed ??= Promise.withResolvers();
    },
    open() {
      closed?.resolve();
      closed = undefined;
    },
    step() {
      closed?.resolve();
      closed = Promise.withResolvers();
    },
    failNext(error) {
      failures.push(error);
    },
    get waiting() {
      return waiting;
    },
    get calls() {
      return calls;
    },
    async pass() {
      calls++;
      waiting++;
      await closed?.promise;
      waiting--;
      if (failures.length > 0) throw failures.shift();
    },
  };
}
