/** Stores for suites that every engine runs. */
import type { Clock } from '../../src/state/clock.ts';
import type { Engine } from '../../src/state/engine.ts';
import { sqliteEngine } from '../../src/state/sqlite/engine.ts';
import type { EtcdCluster } from './etcd.ts';
import { testEngine } from './etcd-node.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** What differs from one engine on a store to another. */
export interface EngineSettings {
  /** Endpoints instead of the store's own: a proxy's. */
  readonly endpoints?: readonly string[];
  readonly clock?: Clock;
}

/** A store of one test, and engines on it. */
export interface TestStore extends AsyncDisposable {
  /** An engine that is not open yet. */
  engine(settings?: EngineSettings): Engine;
}

/** Makes a store that nobody else uses. */
export type MakeStore = () => Promise<TestStore>;

/** A directory with a database. */
export async function sqliteStore(): Promise<TestStore> {
  const directory = await temporaryDirectory();
  return {
    engine: () => sqliteEngine({ directory: directory.path }),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

let prefixes = 0;

/** A prefix of its own in a running etcd. The lease is the shortest that etcd grants, so that dead nodes go soon. */
export async function etcdStore(etcd: EtcdCluster): Promise<TestStore> {
  const prefix = `test-${++prefixes}/`;
  return {
    engine: ({ endpoints = etcd.urls, ...rest } = {}) => testEngine({ endpoints, prefix, leaseMs: 2_000, ...rest }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
