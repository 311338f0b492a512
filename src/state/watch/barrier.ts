/**
 * Proves that this node holds everything that was committed before a read arrived.
 *
 * One proof runs at a time. A read never joins one that began before it: it joins the next, together with everyone who
 * came meanwhile, so any number of readers costs the store one request a round trip.
 */
import type { Clock } from '../clock/clock.ts';
import { StateError } from '../errors.ts';
import { BARRIER_MS } from '../limits.ts';

export class Barrier {
  readonly #prove: (signal: AbortSignal) => Promise<void>;
  readonly #clock: Clock;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failedAtMs: number | undefined;

  /** `prove` reads the store's head and waits until this node has reached it. */
  constructor(prove: (signal: AbortSignal) => Promise<void>, clock: Clock) {
    this.#prove = prove;
    this.#clock = clock;
  }

  /** When the last proof failed, by the monotonic clock; undefined: it did not. */
  get failedAtMs(): number | undefined {
    return this.#failedAtMs;
  }

  /**
   * Resolves after a proof that began after this call.
   * @throws StateError `unavailable` when the first of those who share the proof has waited for BARRIER_MS
   */
  join(): Promise<void> {
    this.#next ??= this.#after(this.#running);
    return this.#next;
  }

  async #after(earlier: Promise<void> | undefined): Promise<void> {
    const timeOut = new AbortController();
    const late = new StateError('unavailable', 'the store has not answered in time', { retryAfterSeconds: 1 });
    let cancel = (): void => undefined;
    const expired = new Promise<never>((_, reject) => {
      // The wait for the earlier proof counts: behind a store that is silent nobody waits for two time-outs.
      cancel = this.#clock.after(BARRIER_MS, () => {
        timeOut.abort(late);
        reject(late);
      });
    });
    let begun = false;
    const proveInTurn = async (): Promise<void> => {
      await earlier?.catch(() => undefined);
      timeOut.signal.throwIfAborted();
      begun = true;
      this.#running = this.#next;
      this.#next = undefined;
      await this.#prove(timeOut.signal);
    };
    try {
      await Promise.race([proveInTurn(), expired]);
      this.#failedAtMs = undefined;
    } catch (error) {
      this.#failedAtMs = this.#clock.monotonic();
      throw error;
    } finally {
      cancel();
      if (begun) this.#running = undefined;
      else this.#next = undefined;
    }
  }
}
