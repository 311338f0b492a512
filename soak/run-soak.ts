/**
 * Runs a soak: workers write and read on every server of two peered clusters while faults are injected one after
 * another, and model checkers compare every response with the models.
 *
 * Only one worker writes a resource, because the model is then exact and needs no search. Races between writers are
 * covered by the history tests under test/. Only one fault is active at a time, because recovery after each fault is a
 * check of its own, and because a violation then follows the fault that caused it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../test/support/random.ts';
import { createClient } from './client.ts';
import { injectFaults, type RunLength } from './fault-injector.ts';
import { createFaultLog } from './fault-log.ts';
import type { FaultName } from './faults.ts';
import { createIndexTracker } from './index-tracker.ts';
import { allKinds } from './kinds/all-kinds.ts';
import { CHECK_INTERVAL_MS, REQUEST_PAUSE_MS } from './limits.ts';
import { type Memory, measureMemory } from './memory.ts';
import { createPeeringChecker } from './peering-checker.ts';
import { runPeeringLifecycles } from './peering-lifecycle.ts';
import { progressText, type Report } from './report.ts';
import { createRequestStats } from './request-stats.ts';
import { sendOrThrow, startTopology, type Topology } from './topology.ts';
import { createViolationLog, type ViolationLog } from './violation-log.ts';
import { createWorker } from './worker.ts';
import { createWorkerPause } from './worker-pause.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly length: RunLength;
  readonly faults: readonly FaultName[];
  /** Multiplies the durations of faults and of the pauses before them. 1 by default. */
  readonly timeScale?: number;
  /** The average pause between two requests of a worker. REQUEST_PAUSE_MS by default. */
  readonly pauseMs?: number;
  /** Receives progress lines and violations. */
  print(text: string): void;
  /** Ends the run early, with all processes and files removed. */
  readonly signal: AbortSignal;
}

/** @throws Error when the preparation fails, a server does not start again, or `signal` aborts */
export async function runSoak(options: SoakOptions): Promise<Report> {
  const { seed, length, faults, timeScale, pauseMs = REQUEST_PAUSE_MS, print, signal } = options;
  const now = (): number => performance.now();
  const startedMs = now();
  const elapsedMs = (): number => now() - startedMs;
  const random = createRandom(seed);
  const violations = createViolationLog({ seed, elapsedMs, print });
  const stats = createRequestStats();
  const log = createFaultLog(Date.now);
  await using parts = new AsyncDisposableStack();
  const clientOptions = { stats, violations, indexes: createIndexTracker(), faultCount: () => log.count, now };
  const client = parts.use(createClient(clientOptions));

  print(`seed ${seed}: starting two clusters`);
  const topology = parts.use(await startTopology(client, signal));
  const a1 = topology.server('a1');
  const { teamAccess } = await a1.credentials();
  const kinds = await allKinds(teamAccess.token, (request) => sendOrThrow(client, a1, request));
  const pause = createWorkerPause();
  const shared = { client, violations, gate: pause, pauseMs, now };
  const workers = kinds.flatMap((kind) =>
    Array.from({ length: kind.workers }, (_, worker) =>
      createWorker({ ...shared, kind, worker, targets: topology.serversOf(kind.cluster), random: random.fork() }),
    ),
  );
  const exportedKinds = kinds.filter((kind) => kind.isExported);
  const { linkStatus, calmCount } = log;
  const checker = createPeeringChecker({ topology, client, violations, exportedKinds, linkStatus, calmCount });

  const memory: Memory[] = [];
  const stopping = new AbortController();
  const stop = AbortSignal.any([signal, stopping.signal]);
  const check = async (): Promise<void> => {
    await checker.checkOnce(stop);
    await checkForExits(topology, violations);
  };
  const working = Promise.all([
    ...workers.map((worker) => worker.run(stop)),
    runPeeringLifecycles({ topology, client, violations, random: random.fork(), now }, stop),
    repeat(check, stop),
  ]);
  const injectorOptions = { topology, length, faults, timeScale, random: random.fork(), log, pause, checker, memory };
  const onRecovered = (): void => print(progressText(elapsedMs(), violations.count, stats.rows));
  const injecting = injectFaults({ ...injectorOptions, elapsedMs, onRecovered, print }, stop);
  parts.defer(async () => {
    stopping.abort();
    await Promise.allSettled([working, injecting]);
  });
  // `working` settles first only if the soak itself has failed.
  await Promise.race([injecting, working]);
  stopping.abort();
  await working;
  signal.throwIfAborted();

  print('reading all resources on every server');
  await Promise.all(workers.map((worker) => worker.readAll(signal)));
  await checker.waitForConvergence(signal);
  if (memory.length > 0) memory.push(await measureMemory(topology));
  signal.throwIfAborted();
  if (violations.count > 0) {
    for (const server of topology.servers) print(`log of ${server.name}: ${await server.logTail()}`);
  }
  return {
    seed,
    durationMs: elapsedMs(),
    requests: stats.rows,
    faults: log.faults,
    violations: violations.count,
    memory,
    restarts: new Map(topology.servers.map(({ name, startCount }) => [name, startCount - 1])),
  };
}

async function repeat(action: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await action();
    await delay(CHECK_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Reports servers that have exited without being killed by a fault. */
async function checkForExits({ servers }: Topology, violations: ViolationLog): Promise<void> {
  for (const server of servers) {
    const exit = server.takeUnexpectedExit();
    if (exit === undefined) continue;
    violations.add({
      rule: 'a server does not exit by itself',
      request: 'process status',
      server: server.name,
      response: `exited with ${exit}: ${await server.logTail()}`,
      expected: 'a running process',
    });
  }
}
