/**
 * A signal that follows another one and can end earlier. Unlike with `AbortSignal.any`, the other one, which lives as long
 * as the run, keeps nothing of it once it is over: a soak makes millions.
 */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  /** Ends it now. */
  end(): void;
}

/** Follows `source`, if there is one, and ends after `ms`, if given. Disposing lets go of both. */
export function linkedSignal(source: AbortSignal | undefined, ms?: number): LinkedSignal {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const timer = ms === undefined ? undefined : setTimeout(end, ms);
  if (source?.aborted === true) end();
  source?.addEventListener('abort', end, { once: true });
  return {
    signal: ending.signal,
    end,
    [Symbol.dispose]() {
      clearTimeout(timer);
      source?.removeEventListener('abort', end);
    },
  };
}
