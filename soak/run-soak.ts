/**
 * The soak: workers write and read on every server of two peered clusters while faults are injected one after another, and
 * everything that is answered is held against what the workers know.
 *
 * Why workers own what they write: the model of a thing that one worker alone writes is exact, a page long and needs no
 * search; races between writers are what the histories under test/ are for. Why one fault at a time: after each, everything
 * has to come back by itself, which is a check of its own, and a violation is told right after the one fault that brought
 * it about.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../test/support/random.ts';
import { createClient } from './client.ts';
import { disturb, type Length } from './disturb.ts';
import { createFaultLog } from './fault-log.ts';
import type { FaultName } from './faults.ts';
import { createGate } from './gate.ts';
import { createIndexes } from './indexes.ts';
import { allKinds } from './kinds/all-kinds.ts';
import { LOOK_MS, PAUSE_MS } from './limits.ts';
import { type Memory, measureMemory } from './memory.ts';
import { createEnds } from './peering-ends.ts';
import { progress, type Report } from './report.ts';
import { createTally } from './tally.ts';
import { travel } from './traveller.ts';
import { createViolations, type Violations } from './violation.ts';
import { createWorker } from './worker.ts';
import { must, startWorld, type World } from './world.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly length: Length;
  readonly faults: readonly FaultName[];
  /** Faults, and the pauses before them, last this share of the usual; 1 unless given. */
  readonly faultShare?: number;
  /** Between two requests of a worker, on average; PAUSE_MS unless given. */
  readonly pauseMs?: number;
  /** Takes what goes on, and violations. */
  say(text: string): void;
  /** Ends it early; everything is cleaned up. */
  readonly signal: AbortSignal;
}

/** Runs it. @throws Error when it could not be prepared, a server did not start again, or it was ended early */
export async function runSoak(options: SoakOptions): Promise<Report> {
  const { seed, length, faults, faultShare, pauseMs = PAUSE_MS, say, signal } = options;
  const now = (): number => performance.now();
  const startedMs = now();
  const elapsedMs = (): number => now() - startedMs;
  const random = createRandom(seed);
  const violations = createViolations({ seed, elapsedMs, say });
  const tally = createTally();
  const log = createFaultLog(Date.now);
  await using parts = new AsyncDisposableStack();
  const clientParts = { tally, violations, indexes: createIndexes(), faultCount: () => log.count, now };
  const client = parts.use(createClient(clientParts));

  say(`seed ${seed}: starting two clusters`);
  const world = parts.use(await startWorld(client, signal));
  const a1 = world.seat('a1');
  const kinds = await allKinds((await a1.credentials()).teamAccess.token, (ask) => must(client, a1, ask));
  const gate = createGate();
  const shared = { client, violations, gate, pauseMs, now };
  const workers = kinds.flatMap((kind) =>
    Array.from({ length: kind.workers }, (_, worker) =>
      createWorker({ ...shared, kind, worker, places: world.of(kind.cluster), random: random.fork() }),
    ),
  );
  const exported = kinds.filter((kind) => kind.exported);
  const ends = createEnds({ world, client, violations, exported, facts: log.facts, quiet: log.quiet });

  const memory: Memory[] = [];
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const look = async (): Promise<void> => {
    await ends.look(until);
    await lookForEnded(world, violations);
  };
  const working = Promise.all([
    ...workers.map((worker) => worker.run(until)),
    travel({ world, client, violations, random: random.fork(), now }, until),
    again(look, until),
  ]);
  const disturbParts = { world, length, faults, faultShare, random: random.fork(), log, gate, ends, memory };
  const settled = (): void => say(progress(elapsedMs(), violations.count, tally.counts));
  const disturbing = disturb({ ...disturbParts, elapsedMs, settled, say }, until);
  parts.defer(async () => {
    stopping.abort();
    await Promise.allSettled([working, disturbing]);
  });
  // Workers end before they are told to only where the soak itself is wrong.
  await Promise.race([disturbing, working]);
  stopping.abort();
  await working;
  signal.throwIfAborted();

  say('reading everything on every server');
  await Promise.all(workers.map((worker) => worker.readAll(signal)));
  await ends.converge(signal);
  if (memory.length > 0) memory.push(await measureMemory(world));
  signal.throwIfAborted();
  if (violations.count > 0) for (const seat of world.seats) say(`log of ${seat.name}: ${await seat.logTail()}`);
  return {
    seed,
    tookMs: elapsedMs(),
    counts: tally.counts,
    faults: log.faults,
    violations: violations.count,
    memory,
    restarts: new Map(world.seats.map(({ name, starts }) => [name, starts - 1])),
  };
}

async function again(act: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await act();
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** No server ends unless it is told to, whatever is done to what it stands on. */
async function lookForEnded({ seats }: World, violations: Violations): Promise<void> {
  for (const seat of seats) {
    const ended = seat.takeEnd();
    if (ended === undefined) continue;
    violations.add({
      rule: 'a server does not end by itself',
      asked: 'whether it runs',
      where: seat.name,
      answered: `it ended with ${ended}: ${await seat.logTail()}`,
      expected: 'it runs',
    });
  }
}
