import type { Clock } from '../../../clock/clock.ts';

/** Wakes whoever waits; a ring that nobody waits for is not kept. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, after `ms` milliseconds, or when the signal aborts, whichever is first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** A bell on `clock`. */
export function createBell(clock: Clock): Bell {
  const waiting = new Set<() => void>();
  return {
    ring() {
      for (const wake of [...waiting]) wake();
    },
    wait(ms, signal) {
      return new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake);
          cancel();
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const cancel = clock.after(ms, wake);
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
        if (signal.aborted) wake();
      });
    },
  };
}
