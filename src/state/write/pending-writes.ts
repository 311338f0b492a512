/** Pending writes: a bounded queue in order of arrival. A write fails when its time limit has passed. */
import { StateError } from '../errors.ts';
import type { WriteCaller } from './admission.ts';
import type { ReplayInputs, Transaction } from './transaction.ts';

/** Shows whether the client has disconnected. The state polls it and registers no listener. May be an `AbortSignal`. */
export type DisconnectSignal = Pick<AbortSignal, 'aborted'>;

export interface PendingWrite {
  /** Returns the steps of a large write, and the result of any other write. */
  readonly run: (tx: Transaction) => unknown;
  readonly replayInputs: ReplayInputs;
  readonly signal: DisconnectSignal | undefined;
  readonly bytes: number;
  readonly dryRun: boolean;
  readonly beyondRowsMax: boolean;
  readonly isRemoval: boolean;
  readonly caller: WriteCaller | undefined;
  /** Bytes that earlier attempts took from the caller's rate. */
  chargedBytes: number;
  /** Monotonic times in milliseconds: of the arrival, and from which on the write fails. */
  readonly queuedAt: number;
  readonly expiresAt: number;
  /** The number of conflicts so far. */
  attempts: number;
  settled: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export function fail(write: PendingWrite, error: unknown): void {
  if (write.settled) return;
  write.settled = true;
  write.reject(error);
}

export interface PendingWrites {
  readonly length: number;
  /** The writes, the oldest first. */
  readonly writes: readonly PendingWrite[];
  /** @throws StateError `overloaded` */
  add(write: PendingWrite): void;
  removeFirst(count: number): void;
  /** Puts writes before all others. The bounds do not apply, because the writes were accepted before. */
  requeue(writes: readonly PendingWrite[]): void;
  /** Fails and removes writes whose time is over or whose client has disconnected. @returns whether it removed any */
  failExpired(now: number): boolean;
  failAll(error: unknown): void;
}

export interface PendingBounds {
  readonly writesMax: number;
  readonly bytesMax: number;
  /** Returns the error of a write whose time is over. */
  readonly lateError: () => StateError;
}

export function createPendingWrites({ writesMax, bytesMax, lateError }: PendingBounds): PendingWrites {
  let pending: PendingWrite[] = [];
  let bytes = 0;

  return {
    get length() {
      return pending.length;
    },
    get writes() {
      return pending;
    },
    add(write) {
      // A single write is always accepted: it may be as large as `limits.body` allows.
      const isFull = pending.length > 0 && bytes + write.bytes > bytesMax;
      if (isFull || pending.length >= writesMax) {
        throw new StateError('overloaded', 'too many writes are waiting: try again later', { retryAfterSeconds: 1 });
      }
      pending.push(write);
      bytes += write.bytes;
    },
    removeFirst(count) {
      for (let i = 0; i < count; i++) bytes -= pending[i]?.bytes ?? 0;
      pending = count === pending.length ? [] : pending.slice(count);
    },
    requeue(writes) {
      for (const write of writes) bytes += write.bytes;
      pending = [...writes, ...pending];
    },
    failExpired(now) {
      for (const write of pending) {
        if (now >= write.expiresAt) {
          fail(write, lateError());
        } else if (isDisconnected(write)) {
          fail(write, disconnectedError());
        }
      }
      const remaining = pending.filter((write) => !write.settled);
      if (remaining.length === pending.length) return false;
      pending = remaining;
      bytes = remaining.reduce((sum, write) => sum + write.bytes, 0);
      return true;
    },
    failAll(error) {
      const all = pending;
      pending = [];
      bytes = 0;
      for (const write of all) fail(write, error);
    },
  };
}

/** Whether the client disconnected before the write was sent for the first time. Such a write is discarded. */
export const isDisconnected = (write: PendingWrite): boolean => write.signal?.aborted === true && write.attempts === 0;

export function disconnectedError(): StateError {
  return new StateError('aborted', 'the client disconnected before the write started');
}
