/**
 * Follows everything below the prefix in one stream, revision by revision. A stream that is cut goes on at the next
 * revision, on the next endpoint, without anybody noticing; what cannot go on is told by `onLost`.
 *
 * Traps: etcd sends one revision in pieces when it is large (`fragment`); several revisions may share an answer; the
 * stream of a member without a leader stays silent unless `hasleader` is asked for; a stream to a store that was
 * restored waits quietly for a revision that is long taken, which is why each start compares the head as well.
 */
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../clock/clock.ts';
import { type EtcdClient, retryPauseMs } from '../client/client.ts';
import type { Event, WatchResponse } from '../client/gen/etcd_pb.ts';
import type { Log } from '../client/options.ts';
import type { KeyRange } from '../keys.ts';
import { CALL_TIMEOUT_MS, RETRY_MS_MAX } from '../limits.ts';
import type { RevisionEvents } from './follow.ts';

/** What the watch needs. */
export interface WatchOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly range: KeyRange;
  /** Called with each revision once, in order. */
  readonly onRevision: (revision: RevisionEvents) => void;
  /** Whether a stream that starts again at `from` goes on with the same history. Undefined: it does. */
  readonly verify: (from: bigint, signal: AbortSignal) => Promise<string | undefined>;
  /** The watch ended and cannot go on; `diverged`: because the store holds another history. */
  readonly onLost: (reason: string, diverged: boolean) => void;
  /** Whoever is told of revisions failed: going on would leave one out. */
  readonly onFatal: (error: Error) => void;
}

/** A watch that is running. */
export interface RunningWatch {
  stop(): void;
  /** Starts the stream again unless something came through it within the last seconds. */
  nudge(): void;
}

/** Starts to watch from revision `from` on. */
export function startWatch(options: WatchOptions, from: bigint): RunningWatch {
  const stopped = new AbortController();
  const state = { next: from, heardAt: options.clock.monotonic(), restart: (_reason: string): void => {} };
  void run(options, state, stopped.signal);
  return {
    stop: () => stopped.abort(new Error('the watch is stopped')),
    nudge() {
      if (options.clock.monotonic() - state.heardAt >= CALL_TIMEOUT_MS) state.restart('the watch is behind');
    },
  };
}

interface WatchState {
  /** The next revision to deliver. */
  next: bigint;
  heardAt: number;
  restart: (reason: string) => void;
}

/** A watch that etcd ended for good. */
class WatchLost extends Error {
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
      if (error instanceof WatchLost) {
        options.onLost(error.message, error.diverged);
        return;
      }
      options.log('info', 'the watch on etcd was cut and goes on', { error: String(error), from: String(state.next) });
    }
    if (state.next !== next || options.clock.monotonic() - startedAt > 2 * RETRY_MS_MAX) failures = 0;
  }
}

/** One stream, until it is cut. */
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
        state.heardAt = options.clock.monotonic();
        if (response.created) {
          cancelTimer();
          await verified(options, state.next, ended.signal);
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

/** The one request, and then an open direction until the stream is cut: closing it would end the watch. */
async function* requests(range: KeyRange, from: bigint, signal: AbortSignal) {
  const create = { key: range.key, rangeEnd: range.rangeEnd, startRevision: from, fragment: true };
  yield { request: { case: 'createRequest' as const, value: create } };
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function verified(options: WatchOptions, from: bigint, signal: AbortSignal): Promise<void> {
  const reason = await options.verify(from, signal);
  if (reason !== undefined) throw new WatchLost(reason, true);
}

/** etcd cancels a watch whose token it does not know, and does not say that this was the reason. */
function checkCanceled(client: EtcdClient, response: WatchResponse): void {
  if (!response.canceled) return;
  if (response.compactRevision > 0n) {
    throw new WatchLost(`etcd has compacted what happened before revision ${response.compactRevision}`, false);
  }
  client.forgetToken();
  throw new ConnectError(`etcd canceled the watch: ${response.cancelReason}`, Code.Unavailable);
}

/** Hands over whole revisions; what a stream that started again repeats is left out. */
function deliver(options: WatchOptions, state: WatchState, events: readonly Event[], signal: AbortSignal): void {
  let start = 0;
  while (start < events.length && !signal.aborted) {
    const revision = revisionOf(events[start]);
    let end = start + 1;
    while (end < events.length && revisionOf(events[end]) === revision) end += 1;
    if (revision >= state.next) {
      state.next = revision + 1n;
      handOver(options, { revision, events: events.slice(start, end) });
    }
    start = end;
  }
}

function handOver(options: WatchOptions, revision: RevisionEvents): void {
  try {
    options.onRevision(revision);
  } catch (error) {
    options.onFatal(new Error(`revision ${revision.revision} could not be taken over`, { cause: error }));
    throw error;
  }
}

function revisionOf(event: Event | undefined): bigint {
  return event?.kv?.modRevision ?? 0n;
}
