/** One direction of a simulated connection: keeps the order, takes its time, holds so much and no more. */
import type { Clock } from '../../../src/state/clock/clock.ts';

/** A way from one cluster to another, as all connections share it. */
export interface Path {
  /** Longest time of a message. */
  delayMsMax: number;
  /** Nothing gets through, and nobody is told: what is sent waits until it is open again. */
  stalled: boolean;
}

/** Messages on their way that make a writer wait: what the windows of HTTP/2 are for. */
const ON_THE_WAY_MAX = 8;

export interface Pipe<T> {
  /** Resolves when there is room for more. */
  put(item: T): Promise<void>;
  /** What comes next; undefined: nothing more. Rejects with what the pipe was broken with. */
  take(): Promise<T | undefined>;
  /** After this nothing more comes. */
  end(): void;
  /** Whoever reads finds an error from now on, what was on its way is lost, and writers do not wait any more. */
  break(error: Error): void;
  /** From now on what is put is lost without a word, as at a reader that has vanished. */
  swallow(): void;
  /** The path is open again. */
  resume(): void;
}

interface Item<T> {
  readonly dueMs: number;
  /** Undefined: the end. */
  readonly of: T | undefined;
}

/** @param delay of a message, from 0 up to 1 of the path's longest */
export function createPipe<T>(clock: Clock, path: Path, delay: () => number): Pipe<T> {
  const onTheWay: Item<T>[] = [];
  const arrived: Item<T>[] = [];
  const writers: (() => void)[] = [];
  let reader: PromiseWithResolvers<T | undefined> | undefined;
  let lastDueMs = 0;
  let cancel: (() => void) | undefined;
  let broken: Error | undefined;
  let swallowing = false;

  const release = (): void => {
    while (writers.length > 0 && (broken !== undefined || onTheWay.length + arrived.length < ON_THE_WAY_MAX)) {
      writers.shift()?.();
    }
  };
  const serve = (): void => {
    if (reader === undefined) return;
    const item = arrived[0];
    if (item !== undefined) {
      // The end stays: who asks again is told again.
      if (item.of !== undefined) arrived.shift();
      reader.resolve(item.of);
    } else if (broken !== undefined) reader.reject(broken);
    else return;
    reader = undefined;
    release();
  };
  const deliver = (): void => {
    cancel = undefined;
    while (!path.stalled && onTheWay[0] !== undefined && onTheWay[0].dueMs <= clock.monotonic()) {
      arrived.push(onTheWay.shift() as Item<T>); // It is there: looked at above.
    }
    serve();
    schedule();
  };
  const schedule = (): void => {
    const next = onTheWay[0];
    if (next === undefined || path.stalled || cancel !== undefined) return;
    cancel = clock.after(next.dueMs - clock.monotonic(), deliver);
  };
  const send = (of: T | undefined): void => {
    if (broken !== undefined) return;
    lastDueMs = Math.max(lastDueMs, clock.monotonic() + delay() * path.delayMsMax);
    onTheWay.push({ dueMs: swallowing ? Number.POSITIVE_INFINITY : lastDueMs, of });
    if (!swallowing) schedule();
  };

  return {
    async put(item) {
      send(item);
      if (broken === undefined && onTheWay.length + arrived.length >= ON_THE_WAY_MAX) {
        await new Promise<void>((resolve) => writers.push(resolve));
      }
    },
    take() {
      reader ??= Promise.withResolvers();
      const { promise } = reader;
      serve();
      return promise;
    },
    end: () => send(undefined),
    break(error) {
      if (broken !== undefined) return;
      broken = error;
      onTheWay.length = 0;
      cancel?.();
      serve();
      release();
    },
    swallow() {
      swallowing = true;
      for (const [i, item] of onTheWay.entries()) onTheWay[i] = { ...item, dueMs: Number.POSITIVE_INFINITY };
      cancel?.();
      cancel = undefined;
    },
    resume() {
      if (!swallowing) schedule();
    },
  };
}
