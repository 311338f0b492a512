/** Injects one fault after another, waits for recovery after each, and measures memory in between. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import type { FaultLog } from './fault-log.ts';
import { FAULTS, type FaultName, type PlannedFault, planFaults } from './faults.ts';
import { injectFault } from './inject-fault.ts';
import { WARM_UP_MS, WARM_UP_SHARE } from './limits.ts';
import { type Memory, measureMemory } from './memory.ts';
import type { PeeringChecker } from './peering-checker.ts';
import type { Topology } from './topology.ts';
import type { WorkerPause } from './worker-pause.ts';

/** The length of a run: minutes, or rounds of all faults. */
export type RunLength = { readonly minutes: number } | { readonly rounds: number };

export interface FaultInjectorOptions {
  readonly topology: Topology;
  readonly length: RunLength;
  readonly faults: readonly FaultName[];
  /** Multiplies the durations of faults and pauses. 1 by default. */
  readonly timeScale: number | undefined;
  readonly random: Random;
  readonly log: FaultLog;
  readonly pause: WorkerPause;
  readonly checker: PeeringChecker;
  /** In a run of minutes, receives the measurements after warm-up and in the middle. */
  readonly memory: Memory[];
  elapsedMs(): number;
  onRecovered(): void;
  print(text: string): void;
}

/** Runs for `length`. @throws Error when the signal aborts */
export async function injectFaults(options: FaultInjectorOptions, signal: AbortSignal): Promise<void> {
  const { length, faults, timeScale, random, memory, elapsedMs } = options;
  const faultsMax = 'rounds' in length ? length.rounds * faults.length : Number.POSITIVE_INFINITY;
  const runMs = 'minutes' in length ? length.minutes * 60_000 : Number.POSITIVE_INFINITY;
  const measureAtMs = [Math.min(WARM_UP_MS, runMs * WARM_UP_SHARE), runMs / 2];
  const plan = planFaults(faults, random.fork(), timeScale);
  for (let injected = 0; injected < faultsMax && elapsedMs() < runMs; injected += 1) {
    const nextMs = measureAtMs[memory.length];
    if (Number.isFinite(runMs) && nextMs !== undefined && elapsedMs() > nextMs) await measure(options);
    await runFault(options, plan.next().value, signal);
    options.onRecovered();
  }
}

async function measure({ topology, pause, log, memory }: FaultInjectorOptions): Promise<void> {
  log.beginMeasurement();
  const all = (): boolean => true;
  memory.push(await pause.whilePaused(all, () => measureMemory(topology)));
  log.recovered();
}

/** Pauses, injects the fault, ends it, and waits until both sides of every peering have recovered. */
async function runFault(options: FaultInjectorOptions, planned: PlannedFault, signal: AbortSignal): Promise<void> {
  const { topology, random, log, pause, checker, print } = options;
  const { fault, target, pauseMs, durationMs } = planned;
  await delay(pauseMs, undefined, { signal });
  const on = target === undefined ? '' : ` (${target})`;
  print(`${FAULTS[fault].description}${on}, ${(durationMs / 1000).toFixed(1)} s`);
  log.beginFault(fault);
  const injected = await injectFault(topology, planned, random);
  // An abort leaves the fault active, because the topology is disposed next.
  await delay(durationMs, undefined, { signal });
  await injected.end();
  log.endFault();
  await pause.whilePaused(
    (kind) => kind.isExported === true,
    () => checker.waitForConvergence(signal),
  );
  log.recovered();
}
