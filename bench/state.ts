/** Measures the state in process: writes and lookups with a million rows, loading, and reads during slow commits. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../src/state/engine/engine.ts';
import { sqliteEngine } from '../src/state/engine/sqlite/engine.ts';
import { startEtcd } from '../test/support/process/etcd.ts';
import { insertRows, openBenchState, readRows, updateRows } from './support/bench-rows.ts';
import { benchEtcdEngine } from './support/etcd-engine.ts';
import { fdatasyncMs } from './support/fdatasync.ts';
import { atLeast, atMost, type Figure, information, percentile, type ReportFigures } from './support/figures.ts';
import type { StateLoadResult } from './support/state-load-process.ts';

const MILLION = 1_000_000;
const MEASURED_ROWS = 100_000;

export async function benchState(report: ReportFigures): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), 'accord-bench-'));
  try {
    report('This machine', [information('fdatasync p50', fdatasyncMs(directory), 'ms')]);
    report('State on SQLite, in process', await onSqlite(path.join(directory, 'sqlite')));
    report('State on one etcd, in process', await onEtcd());
    report('State on a disk with an fsync of 50 ms', await slowDisk(path.join(directory, 'slow')));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function onSqlite(directory: string): Promise<Figure[]> {
  const figures = await millionRows(() => sqliteEngine({ directory }), 100_000);
  return [...figures, ...loadFigures(await loadInOwnProcess({ store: 'sqlite', directory }))];
}

async function onEtcd(): Promise<Figure[]> {
  await using etcd = await startEtcd({ flags: ['--quota-backend-bytes=8589934592'] });
  const endpoint = etcd.first.url;
  const figures = await millionRows(() => benchEtcdEngine(endpoint), 40_000);
  return [...figures, ...loadFigures(await loadInOwnProcess({ store: 'etcd', endpoint }))];
}

async function millionRows(engine: () => Engine, rowsTarget: number): Promise<Figure[]> {
  await using state = await openBenchState(engine());
  const rows = await insertRows(state, 0, MEASURED_ROWS, 100, 64);
  await insertRows(state, MEASURED_ROWS, MILLION, 100, 64);
  const lookups = readRows(state, MILLION, 2 * MILLION);
  const writes = await updateRows(state, MILLION, 60_000, 256);
  return [
    atLeast('rows written', rows, rowsTarget, '/s'),
    atLeast('lookups with 1M rows', lookups, 300_000, '/s'),
    atLeast('single-row writes with 1M rows', writes, 25_000, '/s'),
  ];
}

const loadFigures = ({ seconds, residentBytes }: StateLoadResult): Figure[] => [
  atMost('1M rows, 3 indexes: load time', seconds, 15, 's'),
  atMost('1M rows, 3 indexes: resident memory', residentBytes / 1e6, 900, 'MB'),
];

/** Loads the state in a new process, so that its resident memory contains nothing else. */
async function loadInOwnProcess(target: Record<string, string>): Promise<StateLoadResult> {
  const child = fork(path.join(import.meta.dirname, 'support/state-load-process.ts'), [JSON.stringify(target)], {
    execArgv: ['--expose-gc'],
  });
  const [result] = (await once(child, 'message')) as [StateLoadResult];
  await once(child, 'exit');
  return result;
}

async function slowDisk(directory: string): Promise<Figure[]> {
  await using state = await openBenchState(sqliteEngine({ directory, simulatedSyncMs: 50 }));
  await insertRows(state, 0, 1_000, 100, 1);
  const times: number[] = [];
  let writing = true;
  const writer = (async () => {
    while (writing) await updateRows(state, 1_000, 64, 64);
  })();
  for (let i = 0; i < 2_000; i++) {
    const start = performance.now();
    await state.consistent();
    readRows(state, 1_000, 1);
    times.push(performance.now() - start);
    await delay(1);
  }
  writing = false;
  await writer;
  return [information('read p50', percentile(times, 0.5), 'ms'), atMost('read p99', percentile(times, 0.99), 5, 'ms')];
}
