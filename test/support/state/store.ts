/** Stores for the suites that every engine runs. */
import type { Clock } from '../../../src/state/clock/clock.ts';
import type { Engine } from '../../../src/state/engine/engine.ts';
import { sqliteEngine } from '../../../src/state/engine/sqlite/engine.ts';
import type { EtcdCluster } from '../process/etcd.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { testEngine } from './etcd-node.ts';

/** Settings in which engines on the same store may differ. */
export interface EngineSettings {
  /** Endpoints to use instead of the store's, such as those of a proxy. */
  readonly endpoints?: readonly string[];
  readonly clock?: Clock;
  /** Time after which the lease of a dead node expires. Only etcd uses it. */
  readonly leaseMs?: number;
}

/** The store of one test. */
export interface TestStore extends AsyncDisposable {
  /** Creates an engine on the store without opening it. */
  engine(settings?: EngineSettings): Engine;
}

/** Creates an empty store for one test. */
export type MakeStore = () => Promise<TestStore>;

/** Creates a store in a temporary directory. */
export async function sqliteStore(): Promise<TestStore> {
  const directory = await temporaryDirectory();
  return {
    engine: () => sqliteEngine({ directory: directory.path }),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

const LEASE_MS = 5_000;

let prefixes = 0;

/**
 * Creates a store under a new prefix of a running etcd. The lease is short, so that dead nodes leave soon, but longer
 * than a busy event loop can block. A node that lost its lease would stop its jobs in the middle of a test.
 */
export async function etcdStore(etcd: EtcdCluster): Promise<TestStore> {
  const prefix = `test-${++prefixes}/`;
  return {
    engine: ({ endpoints = etcd.urls, ...rest } = {}) => testEngine({ endpoints, prefix, leaseMs: LEASE_MS, ...rest }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
