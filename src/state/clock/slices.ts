/**
 * Runs long work in slices. Each turn of the event loop runs at most one slice of all such work, so that other requests
 * wait for one slice, however much long work there is.
 */
import { SLICE_MS } from '../limits.ts';

/** Long work that pauses after each small step. */
export type Steps<T> = Generator<void, T>;

/** Work that waits for its next slice, in the order of their turns. */
const waiting: (() => void)[] = [];
let isScheduled = false;

function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) return;
  isScheduled = true;
  setImmediate(() => {
    isScheduled = false;
    waiting.shift()?.();
    schedule();
  });
}

/**
 * Runs `steps` to the end. Before each slice it calls `check`, which throws to stop the work.
 * @throws the error of `steps` or of `check`
 */
export async function runInSlices<T>(steps: Steps<T>, check?: () => void): Promise<T> {
  for (;;) {
    await nextSlice();
    check?.();
    const result = runSlice(steps);
    if (result.done === true) return result.value;
  }
}

/** Runs `steps` for up to SLICE_MS. */
export function runSlice<T>(steps: Steps<T>): IteratorResult<void, T> {
  const endMs = performance.now() + SLICE_MS;
  for (;;) {
    const result = steps.next();
    if (result.done === true || performance.now() >= endMs) return result;
  }
}

/** Runs `steps` to the end at once. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const result = steps.next();
    if (result.done === true) return result.value;
  }
}

/** Returns the steps of work that is short enough for one step. */
export function* oneStep<T>(run: () => T): Steps<T> {
  yield;
  return run();
}
