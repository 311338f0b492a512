/** Writes that wait to be sent to the store: in the order in which they came, bounded, answered when their time is over. */
import { StateError } from '../errors.ts';
import { WAITING_BYTES_MAX, WAITING_WRITES_MAX, WRITE_MS_MAX } from '../limits.ts';
import type { Fixed, Transaction } from './transaction.ts';

/** Whether a caller has left; looked at now and then, never listened to. An `AbortSignal` is one. */
export type Left = Pick<AbortSignal, 'aborted'>;

/** A write and whom to tell. */
export interface PendingWrite {
  readonly fn: (tx: Transaction) => unknown;
  readonly fixed: Fixed;
  readonly signal: Left | undefined;
  readonly bytes: number;
  /** Nothing of it is kept. */
  readonly dryRun: boolean;
  readonly beyondRowsMax: boolean;
  readonly queuedAt: number;
  /** How often it was sent and met a conflict. */
  attempts: number;
  settled: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Tells a write's caller that it failed, unless it was told something before. */
export function fail(entry: PendingWrite, error: unknown): void {
  if (entry.settled) return;
  entry.settled = true;
  entry.reject(error);
}

export interface WaitingWrites {
  readonly length: number;
  /** The writes, the oldest first. */
  readonly entries: readonly PendingWrite[];
  /** @throws StateError `overloaded` */
  add(entry: PendingWrite): void;
  /** Takes the first `count` out. */
  take(count: number): void;
  /** Puts writes in front of all others; they were let in once and are not turned away now. */
  putBack(entries: readonly PendingWrite[]): void;
  /** Answers callers whose time is over, and forgets those who left. @returns whether it took any out */
  sweep(now: number): boolean;
  failAll(error: unknown): void;
}

export function createWaitingWrites(): WaitingWrites {
  let entries: PendingWrite[] = [];
  let bytes = 0;

  return {
    get length() {
      return entries.length;
    },
    get entries() {
      return entries;
    },
    add(entry) {
      // One alone is always let in: it may be as large as `limits.body` allows.
      const isFull = entries.length > 0 && bytes + entry.bytes > WAITING_BYTES_MAX;
      if (isFull || entries.length >= WAITING_WRITES_MAX) {
        throw new StateError('overloaded', 'too many writes are waiting: try again later', { retryAfterSeconds: 1 });
      }
      entries.push(entry);
      bytes += entry.bytes;
    },
    take(count) {
      for (let i = 0; i < count; i++) bytes -= entries[i]?.bytes ?? 0;
      entries = count === entries.length ? [] : entries.slice(count);
    },
    putBack(again) {
      for (const entry of again) bytes += entry.bytes;
      entries = [...again, ...entries];
    },
    sweep(now) {
      for (const entry of entries) {
        if (now - entry.queuedAt >= WRITE_MS_MAX) {
          const text = 'the store cannot be reached: the write was not made';
          fail(entry, new StateError('unavailable', text, { retryAfterSeconds: 5 }));
        } else if (isDisconnected(entry)) {
          fail(entry, callerLeft());
        }
      }
      const left = entries.filter((entry) => !entry.settled);
      if (left.length === entries.length) return false;
      entries = left;
      bytes = left.reduce((sum, entry) => sum + entry.bytes, 0);
      return true;
    },
    failAll(error) {
      const all = entries;
      entries = [];
      bytes = 0;
      for (const entry of all) fail(entry, error);
    },
  };
}

/** Its caller left before it was sent for the first time: it is not worth making. */
export const isDisconnected = (entry: PendingWrite): boolean => entry.signal?.aborted === true && entry.attempts === 0;

export function callerLeft(): StateError {
  return new StateError('aborted', 'the caller left before the write was started');
}
