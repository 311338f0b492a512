/** What the operating system asks of this process. */

export interface Signals extends Disposable {
  /** Aborted at SIGTERM or SIGINT. A second one ends the process at once: nobody listens for it any more. */
  readonly stop: AbortSignal;
  /** Calls `action` at every SIGHUP, never twice at a time. */
  onHangUp(action: () => Promise<void>): void;
}

/** Listens until it is disposed. */
export function catchSignals(): Signals {
  const stop = new AbortController();
  const onStop = (): void => stop.abort();
  const hangUps: (() => void)[] = [];
  let running = Promise.resolve();
  for (const name of STOPPING) process.once(name, onStop);
  return {
    stop: stop.signal,
    onHangUp(action) {
      const onHangUp = (): void => {
        running = running.then(action);
      };
      hangUps.push(onHangUp);
      process.on('SIGHUP', onHangUp);
    },
    [Symbol.dispose]() {
      for (const name of STOPPING) process.off(name, onStop);
      for (const onHangUp of hangUps) process.off('SIGHUP', onHangUp);
    },
  };
}

const STOPPING = ['SIGTERM', 'SIGINT'] as const;

/** Resolves when `signal` aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
