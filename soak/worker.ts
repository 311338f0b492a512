/** A worker: writes its own resources, one request after another, and reads them on any server of the cluster. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import { checkBlockingQuery } from './check-blocking-query.ts';
import type { Target } from './client.ts';
import type { ResourceKind } from './kinds/resource-kind.ts';
import { RETRY_PAUSE_MS } from './limits.ts';
import { ABSENT, type Outcome } from './model.ts';
import { createModelChecker, type ModelCheckerOptions } from './model-checker.ts';
import { currentValue, type TrackedResource } from './tracked-resource.ts';

/** Lets the run pause workers between two requests. */
export interface WorkerGate {
  /** Resolves immediately, or when the pause of workers of `kind` ends or `signal` aborts. */
  waitUntilResumed(kind: ResourceKind, signal: AbortSignal): Promise<void>;
}

export interface WorkerOptions extends ModelCheckerOptions {
  /** The servers of the kind's cluster. */
  readonly targets: readonly Target[];
  readonly gate: WorkerGate;
  /** The average pause between two requests. */
  readonly pauseMs: number;
}

export interface Worker {
  /** Sends requests until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Reads and checks all resources on every server once. */
  readAll(signal: AbortSignal): Promise<void>;
}

type Action = 'put' | 'delete' | 'read' | 'list' | 'invalid' | 'wait';
/** Frequencies in percent. */
const ACTIONS: readonly (readonly [action: Action, percent: number])[] = [
  ['put', 40],
  ['delete', 12],
  ['read', 22],
  ['list', 12],
  ['invalid', 6],
  ['wait', 8],
];

export function createWorker(options: WorkerOptions): Worker {
  const { kind, targets, random, gate, pauseMs } = options;
  const checker = createModelChecker(options);
  const { resources } = checker;

  async function step(signal: AbortSignal): Promise<Outcome> {
    const slot = random.below(resources.length);
    const target = random.pick(targets);
    const action = pickAction(random);
    const value = currentValue(resources[slot] as TrackedResource); // A valid slot.
    if (action === 'list') return await checker.readList(target, signal);
    // A resource with an unsettled write is only read.
    if (value === undefined || action === 'read') return await checker.readOne(slot, target, signal);
    if (action === 'invalid') return await checker.sendInvalid(slot, target, signal);
    if (action === 'wait' && kind.supportsBlockingQueries) {
      return await checkBlockingQuery({ ...options, checker }, slot, signal);
    }
    const next = action === 'delete' && value !== ABSENT ? ABSENT : checker.nextValue(slot);
    const outcome = await checker.write(slot, next, target, signal);
    // Every other server must return an acknowledged write immediately.
    return outcome === 'done' ? await checker.readOne(slot, random.pick(targets), signal) : outcome;
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        await gate.waitUntilResumed(kind, signal);
        if (signal.aborted) return;
        const outcome = await step(signal);
        const hasFailed = outcome === 'unavailable' || outcome === 'unknown';
        const ms = hasFailed ? RETRY_PAUSE_MS : pauseMs * 2 * random.next();
        await delay(ms, undefined, { signal }).catch(() => undefined);
      }
    },
    async readAll(signal) {
      for (const target of targets) {
        await checker.readList(target, signal);
        for (const slot of resources.keys()) await checker.readOne(slot, target, signal);
      }
    },
  };
}

function pickAction(random: Random): Action {
  let remaining = random.below(100);
  for (const [action, percent] of ACTIONS) {
    if (remaining < percent) return action;
    remaining -= percent;
  }
  return 'put';
}
