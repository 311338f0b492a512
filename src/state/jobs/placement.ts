/**
 * Job placement. Rendezvous hashing over the live servers picks one server for each background job, so a job moves when
 * its server leaves. Two servers that run the same job do no harm, because jobs change rows only in guarded commits.
 */
import { hash } from 'node:crypto';
import { type Clock, sleep } from '../clock/clock.ts';
import type { LiveNode } from '../engine/engine.ts';

export interface Job {
  /** The name in logs, and the subject of the placement. */
  readonly name: string;
  /** Works until the signal aborts. A job that throws is started again. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** The pause before a failed job is started again, which limits the load on an unreachable store. */
const RESTART_MS = 1_000;

/** Returns the live server that works on `subject`: the one with the highest hash of (node, subject). */
export function rendezvous(subject: string, nodes: readonly LiveNode[]): string | undefined {
  let chosen: string | undefined;
  let best = '';
  for (const { name } of nodes) {
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

/** Starts and stops jobs as servers join and leave. */
export class Jobs {
  readonly #parts: JobsParts;
  /** The abort controllers of running jobs; undefined for jobs that run on another server. */
  readonly #jobs = new Map<Job, AbortController | undefined>();
  /** One promise per running or stopping job. It settles when the job's loop has ended. */
  readonly #loops = new Set<Promise<void>>();
  #liveNodes: readonly LiveNode[] = [];

  constructor(parts: JobsParts) {
    this.#parts = parts;
  }

  /** Adds a job, and starts it if this server is picked. @returns a function that removes it on this server */
  add(job: Job): () => void {
    this.#jobs.set(job, undefined);
    this.#place(job, undefined);
    return () => {
      this.#jobs.get(job)?.abort();
      this.#jobs.delete(job);
    };
  }

  onLiveNodes(nodes: readonly LiveNode[]): void {
    this.#liveNodes = nodes;
    for (const [job, running] of this.#jobs) this.#place(job, running);
  }

  /** Resolves when every job has stopped. Called after `JobsParts.signal` has aborted. */
  async stopped(): Promise<void> {
    await Promise.all(this.#loops);
  }

  #place(job: Job, running: AbortController | undefined): void {
    const isPicked = rendezvous(job.name, this.#liveNodes) === this.#parts.node && !this.#parts.signal.aborted;
    if (isPicked && running === undefined) {
      const controller = new AbortController();
      this.#jobs.set(job, controller);
      const loop = this.#loop(job, AbortSignal.any([controller.signal, this.#parts.signal]));
      this.#loops.add(loop);
      void loop.finally(() => this.#loops.delete(loop));
    } else if (!isPicked && running !== undefined) {
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
