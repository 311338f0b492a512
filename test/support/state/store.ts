/** Stores for suites that every engine runs. */
import type { Clock } from '../../../src/state/clock/clock.ts';
import type { Engine } from '../../../src/state/engine/engine.ts';
import { sqliteEngine } from '../../../src/state/engine/sqlite/engine.ts';
import type { EtcdCluster } from '../process/etcd.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { testEngine } from './etcd-node.ts';

/** What differs from one engine on a store to another. */
export interface EngineSettings {
  /** Endpoints instead of the store's own: a proxy's. */
  readonly endpoints?: readonly string[];
  readonly clock?: Clock;
  /** How long a dead engine is believed alive; only where nodes have leases. */
  readonly leaseMs?: number;
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

const LEASE_MS = 5_000;

let prefixes = 0;

/**
 * A prefix of its own in a running etcd. The lease is short, so that dead nodes go soon, and yet longer than a busy
 * event loop stands still: a node that lost it would stop its jobs in the middle of a test.
 */
export async function etcdStore(etcd: EtcdCluster): Promise<TestStore> {
  const prefix = `test-${++prefixes}/`;
  return {
    engine: ({ endpoints = etcd.urls, ...rest } = {}) => testEngine({ endpoints, prefix, leaseMs: LEASE_MS, ...rest }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
