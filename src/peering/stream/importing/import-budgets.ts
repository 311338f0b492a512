/**
 * The write budget of each peer ([STREAM-96]), and what each peer's imports use. A peer that changes its services over
 * and over writes at IMPORT_BYTES_PER_SECOND. Meanwhile newer versions replace waiting ones, and then reading pauses, so
 * nothing is lost. A budget outlives the streams of its peering, because a new stream must not begin with a full one.
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import { IMPORT_BYTES_BURST, IMPORT_BYTES_PER_SECOND } from '../../limits.ts';
import type { Amount } from './import-usage.ts';

/** The budget of one peer. */
export interface ImportBudget {
  /**
   * Resolves when the peer may write `bytes`, in the order of the calls. A write that exceeds the remaining burst is
   * admitted, and the next ones wait for it. Rejects when `signal` aborts.
   */
  spend(bytes: number, signal: AbortSignal): Promise<void>;
  /** Reports what the peer's imports use now. */
  setUsed(used: Amount): void;
  /** Counts a resource that was refused. */
  countRefused(): void;
}

/** The figures of one peer, for metrics. Totals only increase. */
export interface ImportFigures {
  readonly writtenBytes: number;
  /** Time for which writes waited for the budget. */
  readonly delayedMs: number;
  readonly refused: number;
  /** Undefined until the peer's imports are first counted on this server. */
  readonly used: Amount | undefined;
}

export interface ImportBudgets {
  readonly byPeering: ReadonlyMap<string, ImportFigures>;
  of(peeringId: string): ImportBudget;
  /** Frees the entry of a removed peering. */
  forget(peeringId: string): void;
}

type Entry = { -readonly [K in keyof ImportFigures]: ImportFigures[K] } & {
  /** When the full burst is available again, in monotonic milliseconds. */
  refilledAtMs: number;
  /** Settles when the last waiting write was admitted. */
  queue: Promise<void> | undefined;
};

const BURST_MS = (IMPORT_BYTES_BURST / IMPORT_BYTES_PER_SECOND) * 1_000;

/**
 * @param exists whether a peering exists. A stream can outlast its peering, and must not add an entry after `forget`.
 */
export function createImportBudgets(clock: Clock, exists: (peeringId: string) => boolean): ImportBudgets {
  const byPeering = new Map<string, Entry>();

  function entryOf(peeringId: string): Entry {
    const found = byPeering.get(peeringId);
    if (found !== undefined) return found;
    const entry: Entry = {
      writtenBytes: 0,
      delayedMs: 0,
      refused: 0,
      used: undefined,
      refilledAtMs: 0,
      queue: undefined,
    };
    if (exists(peeringId)) byPeering.set(peeringId, entry);
    return entry;
  }

  const delayOf = ({ refilledAtMs }: Entry): number => refilledAtMs - clock.monotonic() - BURST_MS;

  async function admit(entry: Entry, bytes: number, signal: AbortSignal): Promise<void> {
    const delayMs = delayOf(entry);
    if (delayMs > 0) {
      await sleep(clock, delayMs, signal);
      entry.delayedMs += delayMs;
    }
    const costMs = (bytes / IMPORT_BYTES_PER_SECOND) * 1_000;
    entry.refilledAtMs = Math.max(entry.refilledAtMs, clock.monotonic()) + costMs;
    entry.writtenBytes += bytes;
  }

  async function spend(entry: Entry, bytes: number, signal: AbortSignal): Promise<void> {
    if (entry.queue === undefined && delayOf(entry) <= 0) return await admit(entry, bytes, signal);
    const before = entry.queue ?? Promise.resolve();
    const admitted = before.then(() => admit(entry, bytes, signal));
    // An aborted write leaves its place to the next one.
    const queue = admitted.catch(() => undefined);
    entry.queue = queue;
    await admitted.finally(() => {
      if (entry.queue === queue) entry.queue = undefined;
    });
  }

  return {
    byPeering,
    of(peeringId) {
      let known: Entry | undefined;
      const own = (): Entry => (known ??= entryOf(peeringId));
      return {
        spend: (bytes, signal) => spend(own(), bytes, signal),
        setUsed(used) {
          own().used = used;
        },
        countRefused() {
          own().refused += 1;
        },
      };
    },
    forget: (peeringId) => void byPeering.delete(peeringId),
  };
}
