/**
 * Watches all keys below the prefix with one stream and delivers them revision by revision. A stream that is cut
 * continues at the next revision on the next endpoint. `onLost` reports a watch that cannot continue.
 *
 * Traps: etcd splits a large revision into several responses (`fragment`), and one response may contain several
 * revisions [ETCD-44]. A member without a leader stays silent unless the call sends `hasleader` [ETCD-7]. A watch on a
 * restored store would wait for a revision that is already used, so each start also compares the head [ETCD-49].
 */
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../clock/clock.ts';
import { type EtcdClient, retryPauseMs } from '../client/client.ts';
import type { Event, WatchResponse } from '../client/gen/etcd_pb.ts';
import type { Log } from '../client/options.ts';
import type { KeyRange } from '../keys.ts';
import { CALL_TIMEOUT_MS, RETRY_PAUSE_MS_MAX } from '../limits.ts';
import type { RevisionEvents } from './commit-tracker.ts';

export interface WatchOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly range: KeyRange;
  /** Receives each revision once, in order. */
  readonly onRevision: (revision: RevisionEvents) => void;
  /** Returns why a stream from revision `from` would not continue the same history, or undefined if it does. */
  readonly findMismatch: (from: bigint, signal: AbortSignal) => Promise<string | undefined>;
  /** Called when the watch cannot continue. `diverged` is true if the store contains another history. */
  readonly onLost: (reason: string, diverged: boolean) => void;
  /** Called when `onRevision` throws, because continuing would skip a revision. */
  readonly onFatal: (error: Error) => void;
}

export interface RunningWatch {
  stop(): void;
  /** Restarts the stream unless a message arrived within the last 2 s [ETCD-53]. */
  restartIfSilent(): void;
}

export function startWatch(options: WatchOptions, from: bigint): RunningWatch {
  const stopped = new AbortController();
  const state: WatchState = { next: from, lastMessageAt: options.clock.monotonic(), restart: () => {} };
  void run(options, state, stopped.signal);
  return {
    stop: () => stopped.abort(new Error('the watch is stopped')),
    restartIfSilent() {
      if (options.clock.monotonic() - state.lastMessageAt >= CALL_TIMEOUT_MS) state.restart('the watch is behind');
    },
  };
}

interface WatchState {
  next: bigint;
  lastMessageAt: number;
  restart: (reason: string) => void;
}

class WatchLostError extends Error {
  override readonly name = 'WatchLost';
  readonly diverged: boolean;

  constructor(reason: string, diverged: boolean) {
    super(reason);
    this.diverged = diverged;
  }
}

async function run(options: WatchOptions, state: WatchState, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    const { next } = state;
    const startedAt = options.clock.monotonic();
    try {
      await sleep(options.clock, retryPauseMs(failures, 1), signal);
      await stream(options, state, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof WatchLostError) {
        options.onLost(error.message, error.diverged);
        return;
      }
      options.log('info', 'watch restarted', { error: String(error), from: String(state.next) });
    }
    if (state.next !== next || options.clock.monotonic() - startedAt > 2 * RETRY_PAUSE_MS_MAX) failures = 0;
  }
}

async function stream(options: WatchOptions, state: WatchState, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const onAbort = (): void => ended.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let cancelTimer = (): void => {};
  try {
    await options.client.stream(async (endpoint, call) => {
      state.restart = (reason) => endpoint.drop(new Error(reason));
      cancelTimer = options.clock.after(CALL_TIMEOUT_MS, () => state.restart('the watch was not created in time'));
      const inner: CallOptions = { ...call, headers: { ...call.headers, hasleader: 'true' } };
      const pieces: Event[] = [];
      for await (const response of endpoint.watch.watch(requests(options.range, state.next, ended.signal), inner)) {
        state.lastMessageAt = options.clock.monotonic();
        if (response.created) {
          cancelTimer();
          await checkHistory(options, state.next, ended.signal);
        }
        checkCanceled(options.client, response);
        for (const event of response.events) pieces.push(event);
        if (!response.fragment) deliver(options, state, pieces.splice(0), ended.signal);
      }
      throw new ConnectError('etcd ended the watch', Code.Unavailable);
    }, ended.signal);
  } finally {
    cancelTimer();
    ended.abort();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Sends the create request and keeps the request direction open, because closing it would end the watch. */
async function* requests(range: KeyRange, from: bigint, signal: AbortSignal) {
  const create = { key: range.key, rangeEnd: range.rangeEnd, startRevision: from, fragment: true };
  yield { request: { case: 'createRequest' as const, value: create } };
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function checkHistory(options: WatchOptions, from: bigint, signal: AbortSignal): Promise<void> {
  const reason = await options.findMismatch(from, signal);
  if (reason !== undefined) throw new WatchLostError(reason, true);
}

/**
 * Throws if etcd canceled the watch. Drops the authentication token, unless compaction is the reason, because etcd may
 * have rejected the token without saying so [ETCD-10].
 */
function checkCanceled(client: EtcdClient, response: WatchResponse): void {
  if (!response.canceled) return;
  if (response.compactRevision > 0n) {
    throw new WatchLostError(`etcd has compacted the history before revision ${response.compactRevision}`, false);
  }
  client.forgetToken();
  throw new ConnectError(`etcd canceled the watch: ${response.cancelReason}`, Code.Unavailable);
}

/** Delivers complete revisions, and skips those that a restarted stream repeats. */
function deliver(options: WatchOptions, state: WatchState, events: readonly Event[], signal: AbortSignal): void {
  let start = 0;
  while (start < events.length && !signal.aborted) {
    const revision = revisionOf(events[start]);
    let end = start + 1;
    while (end < events.length && revisionOf(events[end]) === revision) end += 1;
    if (revision >= state.next) {
      state.next = revision + 1n;
      deliverOne(options, { revision, events: events.slice(start, end) });
    }
    start = end;
  }
}

function deliverOne(options: WatchOptions, revision: RevisionEvents): void {
  try {
    options.onRevision(revision);
  } catch (error) {
    options.onFatal(new Error(`revision ${revision.revision} could not be applied`, { cause: error }));
    throw error;
  }
}

function revisionOf(event: Event | undefined): bigint {
  return event?.kv?.modRevision ?? 0n;
}
