/**
 * Barriers: a barrier proves that this server has applied every commit made before a read arrived.
 *
 * One proof runs at a time. A read never joins a proof that began before the read arrived. All reads that arrive during
 * a proof share the next one, so any number of reads costs one store request per round trip. See [STATE-57].
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

  /** @param prove reads the head of the store and waits until this server has applied the commit with that index */
  constructor(prove: (signal: AbortSignal) => Promise<void>, clock: Clock) {
    this.#prove = prove;
    this.#clock = clock;
  }

  /** The monotonic time at which the last proof failed; undefined if it succeeded. */
  get failedAtMs(): number | undefined {
    return this.#failedAtMs;
  }

  /**
   * Resolves after a proof that began after this call.
   * @throws StateError `unavailable` BARRIER_MS after the first call that shares the proof
   */
  join(): Promise<void> {
    this.#next ??= this.#proveAfter(this.#running);
    return this.#next;
  }

  async #proveAfter(previous: Promise<void> | undefined): Promise<void> {
    const timeout = new AbortController();
    const text = `the store did not answer within ${BARRIER_MS / 1_000} s: try again later`;
    const timeoutError = new StateError('unavailable', text, { retryAfterSeconds: 1 });
    let cancel = (): void => undefined;
    const expired = new Promise<never>((_, reject) => {
      // The timeout includes the wait for the previous proof, so that no read waits for two timeouts.
      cancel = this.#clock.after(BARRIER_MS, () => {
        timeout.abort(timeoutError);
        reject(timeoutError);
      });
    });
    let hasBegun = false;
    const proveInTurn = async (): Promise<void> => {
      await previous?.catch(() => undefined);
      timeout.signal.throwIfAborted();
      hasBegun = true;
      this.#running = this.#next;
      this.#next = undefined;
      await this.#prove(timeout.signal);
    };
    try {
      await Promise.race([proveInTurn(), expired]);
      this.#failedAtMs = undefined;
    } catch (error) {
      this.#failedAtMs = this.#clock.monotonic();
      throw error;
    } finally {
      cancel();
      if (hasBegun) this.#running = undefined;
      else this.#next = undefined;
    }
  }
}
