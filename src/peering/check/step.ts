/** The steps of a connection, one after another: each gives a check, and what the next one stands on. */
import type { Check } from './report.ts';

/** What a step found; without a value nothing after it can be tried. */
export interface Step<T> {
  readonly check: Check;
  readonly value?: T;
}

/** The value, or the reason why there is none: the time was over, or something else. */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'failed'; readonly error: NodeJS.ErrnoException };

/** How a promise of something that can only fail with an Error ends. @param signal what bounds it */
export async function outcomeOf<T>(promise: Promise<T>, signal: AbortSignal): Promise<Outcome<T>> {
  try {
    return { kind: 'done', value: await promise };
  } catch (error) {
    return signal.aborted ? { kind: 'timed-out' } : { kind: 'failed', error: error as Error };
  }
}
