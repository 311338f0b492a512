/** Injects one fault after another, and measures memory in between. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import type { FaultLog } from './fault-log.ts';
import { FAULTS, type FaultName, type PlannedFault, planFaults } from './faults.ts';
import type { HeldGate } from './gate.ts';
import { injectFault } from './inject-fault.ts';
import { WARM_UP_MS, WARM_UP_SHARE } from './limits.ts';
import { type Memory, measureMemory } from './memory.ts';
import type { Ends } from './peering-ends.ts';
import type { World } from './world.ts';

/** How long it goes on: so many minutes, or every fault so many times. */
export type Length = { readonly minutes: number } | { readonly rounds: number };

export interface DisturbParts {
  readonly world: World;
  readonly length: Length;
  readonly faults: readonly FaultName[];
  /** Faults, and the pauses before them, last this share of the usual. */
  readonly faultShare: number | undefined;
  readonly random: Random;
  readonly log: FaultLog;
  readonly gate: HeldGate;
  readonly ends: Ends;
  /** Gets what is measured after warm-up and in the middle of a run of minutes. */
  readonly memory: Memory[];
  elapsedMs(): number;
  /** A fault is over, and everything has come back. */
  settled(): void;
  say(text: string): void;
}

/** Goes on for its length. @throws Error at the signal */
export async function disturb(parts: DisturbParts, signal: AbortSignal): Promise<void> {
  const { length, faults, faultShare, random, memory, elapsedMs } = parts;
  const faultsMax = 'rounds' in length ? length.rounds * faults.length : Number.POSITIVE_INFINITY;
  const runMs = 'minutes' in length ? length.minutes * 60_000 : Number.POSITIVE_INFINITY;
  const measureAtMs = [Math.min(WARM_UP_MS, runMs * WARM_UP_SHARE), runMs / 2];
  const plan = planFaults(faults, random.fork(), faultShare);
  for (let done = 0; done < faultsMax && elapsedMs() < runMs; done += 1) {
    const nextMs = measureAtMs[memory.length];
    if (Number.isFinite(runMs) && nextMs !== undefined && elapsedMs() > nextMs) await measure(parts);
    await oneFault(parts, plan.next().value, signal);
    parts.settled();
  }
}

async function measure({ world, gate, log, memory }: DisturbParts): Promise<void> {
  log.disturb();
  const everybody = (): boolean => true;
  memory.push(await gate.holding(everybody, () => measureMemory(world)));
  log.settle();
}

/** Pause, fault, healing; then both ends of the peerings have to come back to what they were. */
async function oneFault(parts: DisturbParts, planned: PlannedFault, signal: AbortSignal): Promise<void> {
  const { world, random, log, gate, ends, say } = parts;
  const { fault, target, pauseMs, holdMs } = planned;
  await delay(pauseMs, undefined, { signal });
  say(`${FAULTS[fault].what}${target === undefined ? '' : `: ${target}`}, for ${(holdMs / 1000).toFixed(1)} s`);
  log.begin(fault);
  const begun = await injectFault(world, planned, random);
  // Who ends the run early throws the world away as it is.
  await delay(holdMs, undefined, { signal });
  await begun.end();
  log.heal();
  await gate.holding(
    (kind) => kind.exported === true,
    () => ends.converge(signal),
  );
  log.settle();
}
