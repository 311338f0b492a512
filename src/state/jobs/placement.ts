/**
 * Background jobs: each runs on the one node that rendezvous hashing over the live nodes picks for it, so that it moves
 * by itself when that node goes. Two at once do no harm: what a job does, it does in guarded writes.
 */
import { hash } from 'node:crypto';
import { type Clock, sleep } from '../clock/clock.ts';
import type { Member } from '../engine/engine.ts';

/** A loop that works until its signal aborts; it may throw and is then started again. */
export interface Job {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Pause before a job that failed is started again: long enough not to flood a store that is away. */
const RESTART_MS = 1_000;

/** The live node that works on `subject`: the one with the highest hash of (node, subject). */
export function rendezvous(subject: string, members: readonly Member[]): string | undefined {
  let chosen: string | undefined;
  let best = '';
  for (const { name } of members) {
    const score = hash('sha256', `${name}\u0000${subject}`);
    if (chosen === undefined || score > best) {
      chosen = name;
      best = score;
    }
  }
  return chosen;
}

export interface JobsParts {
  readonly node: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onError: (job: string, error: unknown) => void;
}

/** Starts and stops jobs as nodes come and go. */
export class Jobs {
  readonly #parts: JobsParts;
  readonly #jobs = new Map<Job, AbortController | undefined>();
  /** Those that were told to stop are among them until they have. */
  readonly #loops = new Set<Promise<void>>();
  #members: readonly Member[] = [];

  constructor(parts: JobsParts) {
    this.#parts = parts;
  }

  /** @returns ends the job here and forgets it */
  add(job: Job): () => void {
    this.#jobs.set(job, undefined);
    this.#place(job, undefined);
    return () => {
      this.#jobs.get(job)?.abort();
      this.#jobs.delete(job);
    };
  }

  onMembers(members: readonly Member[]): void {
    this.#members = members;
    for (const [job, running] of this.#jobs) this.#place(job, running);
  }

  /** Resolves when every job has ended; call after the signal was aborted. */
  async ended(): Promise<void> {
    await Promise.all(this.#loops);
  }

  #place(job: Job, running: AbortController | undefined): void {
    const mine = rendezvous(job.name, this.#members) === this.#parts.node && !this.#parts.signal.aborted;
    if (mine && running === undefined) {
      const stop = new AbortController();
      this.#jobs.set(job, stop);
      const loop = this.#loop(job, AbortSignal.any([stop.signal, this.#parts.signal]));
      this.#loops.add(loop);
      void loop.finally(() => this.#loops.delete(loop));
    } else if (!mine && running !== undefined) {
      running.abort();
      this.#jobs.set(job, undefined);
    }
  }

  async #loop(job: Job, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await job.run(signal);
      } catch (error) {
        if (!signal.aborted) this.#parts.onError(job.name, error);
      }
      await sleep(this.#parts.clock, RESTART_MS, signal).catch(() => undefined);
    }
  }
}
