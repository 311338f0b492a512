/** Loads a state that another process has written, and reports the time and the resident memory. */
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import { openBenchState } from './bench-rows.ts';
import { benchEtcdEngine } from './etcd-engine.ts';

/** The message to the parent process. */
export interface StateLoadResult {
  readonly seconds: number;
  readonly residentBytes: number;
}

interface Target {
  readonly store: string;
  readonly directory: string;
  readonly endpoint: string;
}

const { store, directory, endpoint } = JSON.parse(process.argv[2] ?? '{}') as Target;
const engine = store === 'sqlite' ? sqliteEngine({ directory }) : benchEtcdEngine(endpoint);
const start = performance.now();
await using state = await openBenchState(engine, 'loader');
const seconds = (performance.now() - start) / 1_000;
global.gc?.();
const report: StateLoadResult = { seconds, residentBytes: process.memoryUsage.rss() };
if (state.snapshot.rowCount === 0) throw new Error('the loaded state has no rows');
process.send?.(report);
