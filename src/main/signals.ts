/** Handles SIGTERM, SIGINT, and SIGHUP. */

export interface Signals extends Disposable {
  /** Aborts on SIGTERM or SIGINT. A second signal ends the process at once, because it has no handler any more. */
  readonly stop: AbortSignal;
  /** Calls `action` on every SIGHUP, one call at a time. A rejection does not stop the other actions. */
  onHangUp(action: () => Promise<void>): void;
}

/** Installs the handlers; disposing removes them. @param onFailure called if an action of SIGHUP rejects */
export function catchSignals(onFailure: (error: unknown) => void): Signals {
  const stop = new AbortController();
  const onStop = (): void => stop.abort();
  const hangUps: (() => void)[] = [];
  let running = Promise.resolve();
  for (const name of STOPPING) process.once(name, onStop);
  return {
    stop: stop.signal,
    onHangUp(action) {
      const onHangUp = (): void => {
        running = running.then(action).catch(onFailure);
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

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
