/** A real engine whose calls a test can hold, fail, and answer for others: what a slow or lost store looks like. */
import type { Commit, Engine, Follower, Member, Operation } from '../../../src/state/engine/engine.ts';

/** Where calls are held. */
export interface Gate {
  /** From now on calls wait here. */
  shut(): void;
  /** Lets those that wait go on, and all that come. */
  open(): void;
  /** Lets those that wait go on; further ones wait. */
  step(): void;
  /** The next call that comes rejects with `error`. */
  failNext(error: unknown): void;
  /** How many calls wait. */
  readonly waiting: number;
  /** How many calls have come, those that wait included. */
  readonly calls: number;
}

export interface GatedEngine {
  readonly engine: Engine;
  /** Before the store is asked to commit. */
  readonly commit: Gate;
  /** After the store has committed and the follower has heard of it, before the commit is acknowledged. */
  readonly acknowledge: Gate;
  readonly head: Gate;
  readonly load: Gate;
  /** The commits that were asked for. */
  readonly commits: readonly Commit[];
  /** Makes a commit as another node would. */
  commitElsewhere(operations: readonly Operation[]): Promise<void>;
  /** Says that continuity is lost. */
  break(reason: string): void;
  /** Says which nodes live. */
  members(members: readonly Member[]): void;
  /** Tells of a commit that nobody made. */
  deliver(index: number): void;
}

/** What the gated engine pretends to be. */
export interface Pretence {
  /** Barriers are not free, though nobody else can commit but `commitElsewhere`. */
  readonly shared?: boolean;
  readonly operationsMax?: number;
  readonly bytesMax?: number;
}

export function gatedEngine(inner: Engine, { shared = false, operationsMax, bytesMax }: Pretence = {}): GatedEngine {
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
      if (result !== 'committed') throw new Error('another commit was under way');
    },
    break: (reason) => follower().onBreak(reason),
    members: (members) => follower().onMembers(members),
    deliver: (index) => follower().onCommit({ index, operations: [], own: false }),
  };
}

interface PassableGate extends Gate {
  pass(): Promise<void>;
}

function createGate(): PassableGate {
  let shut: PromiseWithResolvers<void> | undefined;
  const failures: unknown[] = [];
  let waiting = 0;
  let calls = 0;
  return {
    shut() {
      shut ??= Promise.withResolvers();
    },
    open() {
      shut?.resolve();
      shut = undefined;
    },
    step() {
      shut?.resolve();
      shut = Promise.withResolvers();
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
      await shut?.promise;
      waiting--;
      if (failures.length > 0) throw failures.shift();
    },
  };
}
