/** One direction of a simulated connection. It keeps the order, delays messages, and limits those in flight. */
import type { Clock } from '../../../../src/state/clock/clock.ts';

/** The path from one cluster to another, which all connections share. */
export interface Path {
  /** The longest delay of a message. */
  delayMsMax: number;
  /** Whether messages wait silently until the path is open again. */
  stalled: boolean;
}

/** Messages in flight at which a writer has to wait, like HTTP/2 flow control. */
const IN_FLIGHT_MAX = 8;

export interface Pipe<T> {
  /** Sends an item. Resolves when there is room for another one. */
  write(item: T): Promise<void>;
  /** Returns the next item, or undefined at the end. Rejects with the error of `break`. */
  read(): Promise<T | undefined>;
  /** Ends the stream of items. */
  end(): void;
  /** Breaks the pipe: readers get the error, items in flight are lost, and writers no longer wait. */
  break(error: Error): void;
  /** Silently drops items from now on, like a reader that has vanished. */
  dropAll(): void;
  /** Continues delivery after the path is no longer stalled. */
  resume(): void;
}

interface Item<T> {
  readonly dueMs: number;
  /** Undefined at the end. */
  readonly value: T | undefined;
}

/** @param delay returns the delay of a message as a fraction of `delayMsMax` */
export function createPipe<T>(clock: Clock, path: Path, delay: () => number): Pipe<T> {
  const inFlight: Item<T>[] = [];
  const arrived: Item<T>[] = [];
  const writers: (() => void)[] = [];
  let reader: PromiseWithResolvers<T | undefined> | undefined;
  let lastDueMs = 0;
  let cancel: (() => void) | undefined;
  let broken: Error | undefined;
  let isDropping = false;

  const release = (): void => {
    while (writers.length > 0 && (broken !== undefined || inFlight.length + arrived.length < IN_FLIGHT_MAX)) {
      writers.shift()?.();
    }
  };
  const serve = (): void => {
    if (reader === undefined) return;
    const item = arrived[0];
    if (item !== undefined) {
      // The end stays, so that every later read ends too.
      if (item.value !== undefined) arrived.shift();
      reader.resolve(item.value);
    } else if (broken !== undefined) reader.reject(broken);
    else return;
    reader = undefined;
    release();
  };
  const deliver = (): void => {
    cancel = undefined;
    while (!path.stalled && inFlight[0] !== undefined && inFlight[0].dueMs <= clock.monotonic()) {
      arrived.push(inFlight.shift() as Item<T>); // Not empty, as checked above.
    }
    serve();
    schedule();
  };
  const schedule = (): void => {
    const next = inFlight[0];
    if (next === undefined || path.stalled || cancel !== undefined) return;
    cancel = clock.after(next.dueMs - clock.monotonic(), deliver);
  };
  const send = (value: T | undefined): void => {
    if (broken !== undefined) return;
    lastDueMs = Math.max(lastDueMs, clock.monotonic() + delay() * path.delayMsMax);
    inFlight.push({ dueMs: isDropping ? Number.POSITIVE_INFINITY : lastDueMs, value });
    if (!isDropping) schedule();
  };

  return {
    async write(item) {
      send(item);
      if (broken === undefined && inFlight.length + arrived.length >= IN_FLIGHT_MAX) {
        await new Promise<void>((resolve) => writers.push(resolve));
      }
    },
    read() {
      reader ??= Promise.withResolvers();
      const { promise } = reader;
      serve();
      return promise;
    },
    end: () => send(undefined),
    break(error) {
      if (broken !== undefined) return;
      broken = error;
      inFlight.length = 0;
      cancel?.();
      serve();
      release();
    },
    dropAll() {
      isDropping = true;
      for (const [i, item] of inFlight.entries()) inFlight[i] = { ...item, dueMs: Number.POSITIVE_INFINITY };
      cancel?.();
      cancel = undefined;
    },
    resume() {
      if (!isDropping) schedule();
    },
  };
}
