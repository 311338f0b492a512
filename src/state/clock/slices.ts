/**
 * Runs long work in slices, so that other requests wait for one slice, however much long work there is. In each turn of
 * the event loop, long work that has just begun shares one slice, and long work that continues shares another one.
 */
import { LONG_WORK_MAX, SLICE_MS, STEP_ITEMS } from '../limits.ts';

/** Long work that pauses after each small step. */
export type Steps<T> = Generator<void, T>;

export interface LongWork<T> {
  /** Creates the steps. Work that has to wait for its turn is created again, so that it uses no memory until then. */
  readonly begin: () => Steps<T>;
  /** Called before each slice but the first. Throws to stop the work, for example because the caller has left. */
  readonly check: () => void;
}

interface Task {
  /** Runs a slice that ends at `endMs`. @returns whether the task has ended */
  run(endMs: number): boolean;
}

/** Tasks that have begun, in the order of their turns. */
const running: Task[] = [];
/** Tasks that wait until another one ends. */
const waiting: Task[] = [];
let isScheduled = false;
/** The end of the slice for work that begins in this turn. `undefined` until some begins. */
let beginningEndMs: number | undefined;

/**
 * Runs long work. Returns its result if it ends in the slice in which it begins, so that short work causes no delay.
 * @throws the error of the work
 */
export function runInSlices<T>(work: LongWork<T>): T | Promise<T> {
  if (beginningEndMs === undefined) {
    beginningEndMs = performance.now() + SLICE_MS;
    setImmediate(() => {
      beginningEndMs = undefined;
    });
  } else if (performance.now() >= beginningEndMs) {
    return enqueue(work, undefined);
  }
  const steps = work.begin();
  const result = runUntil(steps, beginningEndMs);
  if (result.done === true) return result.value;
  if (running.length < LONG_WORK_MAX) return enqueue(work, steps);
  steps.return(undefined as T);
  return enqueue(work, undefined);
}

function enqueue<T>({ begin, check }: LongWork<T>, begun: Steps<T> | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    let steps = begun;
    const run = (endMs: number): boolean => {
      try {
        check();
        steps ??= begin();
        const result = runUntil(steps, endMs);
        if (result.done !== true) return false;
        resolve(result.value);
      } catch (error) {
        // Frees what the work shares with others. Has no effect if the work itself has failed.
        steps?.return(undefined as T);
        reject(error);
      }
      return true;
    };
    (begun === undefined ? waiting : running).push({ run });
    schedule();
  });
}

function schedule(): void {
  if (isScheduled || running.length + waiting.length === 0) return;
  isScheduled = true;
  setImmediate(runTurn);
}

function runTurn(): void {
  isScheduled = false;
  const endMs = performance.now() + SLICE_MS;
  do {
    if (running.length < LONG_WORK_MAX) running.push(...waiting.splice(0, LONG_WORK_MAX - running.length));
    const task = running.shift();
    if (task === undefined) return;
    if (!task.run(endMs)) running.push(task);
  } while (performance.now() < endMs);
  schedule();
}

/** Runs `steps` for up to SLICE_MS. */
export const runSlice = <T>(steps: Steps<T>): IteratorResult<void, T> => runUntil(steps, performance.now() + SLICE_MS);

function runUntil<T>(steps: Steps<T>, endMs: number): IteratorResult<void, T> {
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

/**
 * Thrown by a function that cannot pause and needs a result that takes long. Whoever runs the function in slices runs
 * these steps, which keep the result for it, and calls it again.
 */
export class NeedsSteps {
  readonly steps: () => Steps<void>;

  constructor(steps: () => Steps<void>) {
    this.steps = steps;
  }
}

/** Runs `run`, again each time it needs steps. */
export function* withNeededSteps<T>(run: () => Steps<T>): Steps<T> {
  for (;;) {
    try {
      return yield* run();
    } catch (error) {
      if (!(error instanceof NeedsSteps)) throw error;
      yield* error.steps();
    }
  }
}

/** Returns the steps of work that is short enough for one step. */
export function* oneStep<T>(run: () => T): Steps<T> {
  yield;
  return run();
}

/** Calls `visit` for all items. Pauses after every `stepItems` of them, and where one needs steps [SRV-124]. */
export function* visitInSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void,
  stepItems = STEP_ITEMS,
): Steps<void> {
  let left = stepItems;
  for (const item of items) {
    for (let isDone = false; !isDone; ) {
      try {
        visit(item);
        isDone = true;
      } catch (error) {
        if (!(error instanceof NeedsSteps)) throw error;
        yield* error.steps();
      }
    }
    left -= 1;
    if (left > 0) continue;
    left = stepItems;
    yield;
  }
}

/** Returns the results of `convert` for all items. Pauses after each. */
export function* mapInSlices<Item, T>(items: Iterable<Item>, convert: (item: Item) => T): Steps<T[]> {
  const results: T[] = [];
  yield* visitInSlices(items, (item) => void results.push(convert(item)), 1);
  return results;
}

/** Returns the items that pass `test`. */
export function* filterInSlices<Item>(items: Iterable<Item>, test: (item: Item) => boolean): Steps<Item[]> {
  const results: Item[] = [];
  yield* visitInSlices(items, (item) => {
    if (test(item)) results.push(item);
  });
  return results;
}

/** Items that are sorted at once, in about 1 ms. */
const SORTED_ITEMS = 2_048;

/** Sorts items. Equal items keep their order. Returns `items`, sorted in place, or a new array. */
export function* sortInSlices<Item>(items: Item[], compare: (a: Item, b: Item) => number): Steps<Item[]> {
  if (items.length <= SORTED_ITEMS) return items.sort(compare);
  let runs: Item[][] = [];
  for (let start = 0; start < items.length; start += SORTED_ITEMS) {
    runs.push(items.slice(start, start + SORTED_ITEMS).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [a = [], b] = runs.slice(i, i + 2);
      merged.push(b === undefined ? a : yield* merge(a, b, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<Item>(a: readonly Item[], b: readonly Item[], compare: (a: Item, b: Item) => number): Steps<Item[]> {
  const merged: Item[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const takesA = compare(a[i] as Item, b[j] as Item) <= 0;
    merged.push((takesA ? a[i++] : b[j++]) as Item);
    if (merged.length % SORTED_ITEMS === 0) yield;
  }
  for (; i < a.length; i++) merged.push(a[i] as Item);
  for (; j < b.length; j++) merged.push(b[j] as Item);
  return merged;
}

/** The steps of one result for several callers. Each of them moves the same steps forward, so none waits for another. */
export class SharedSteps<T> {
  readonly #steps: Steps<T>;
  readonly #onEnd: (result: { readonly value: T } | undefined) => void;
  #callers = 0;
  #outcome: { readonly value: T } | { readonly error: unknown } | undefined;

  /** `onEnd` receives the result, or `undefined` when the steps failed or all callers have left. */
  constructor(steps: Steps<T>, onEnd: (result: { readonly value: T } | undefined) => void) {
    this.#steps = steps;
    this.#onEnd = onEnd;
  }

  *join(): Steps<T> {
    this.#callers += 1;
    try {
      while (this.#outcome === undefined) {
        this.#advance();
        if (this.#outcome === undefined) yield;
      }
    } finally {
      this.#callers -= 1;
      if (this.#callers === 0 && this.#outcome === undefined) {
        this.#steps.return(undefined as T);
        this.#onEnd(undefined);
      }
    }
    if ('error' in this.#outcome) throw this.#outcome.error;
    return this.#outcome.value;
  }

  #advance(): void {
    try {
      const result = this.#steps.next();
      if (result.done !== true) return;
      this.#outcome = { value: result.value };
      this.#onEnd(this.#outcome);
    } catch (error) {
      this.#outcome = { error };
      this.#onEnd(undefined);
    }
  }
}
