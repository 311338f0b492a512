import type { Clock } from '../../../clock/clock.ts';

/** Wakes all current waiters. A notification without waiters has no effect. */
export interface Notifier {
  notify(): void;
  /** Resolves at the next notification, after `ms` milliseconds, or when the signal aborts, whichever comes first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createNotifier(clock: Clock): Notifier {
  const waiters = new Set<() => void>();
  return {
    notify() {
      for (const wake of [...waiters]) wake();
    },
    wait(ms, signal) {
      return new Promise((resolve) => {
        const wake = (): void => {
          waiters.delete(wake);
          cancel();
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const cancel = clock.after(ms, wake);
        waiters.add(wake);
        signal.addEventListener('abort', wake, { once: true });
        if (signal.aborted) wake();
      });
    },
  };
}
