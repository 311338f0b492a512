/**
 * Reads that can wait: the one mechanism behind every blocking query.
 *
 * An endpoint gives a synchronous function from a snapshot to a result. It is called when the store has confirmed that
 * the snapshot is current, and again after every change of what it watches, so the caller and its grants are looked up
 * again before anything is said. The query is answered as soon as the result's index is above the one asked for, when
 * its time is over, when the caller's token is no longer good, or when the server stops.
 *
 * A held query is one plain object and three callbacks, and nothing turns while it is held: ten thousand of them are
 * an ordinary day. A woken query whose result is not newer goes on waiting, with the same deadline.
 */
import type { Clock } from '../../state/clock/clock.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { State, Watched } from '../../state/state.ts';
import type { Topic } from '../../state/watch/change-notifier.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { ANSWER_SLICE, WAIT_JITTER_SHARE } from '../limits.ts';
import { sendAnswer, sendError } from '../send.ts';
import { isStoreKnown } from '../store-contact.ts';
import { bytesHeld, type Rendered, render, renderedAnswer } from '../v1/json-answer.ts';
import { HeldCount } from './query-quota.ts';
import { readHeaders } from './read-headers.ts';
import { type ReadParameters, readParameters } from './read-parameters.ts';

/** What a read found in one snapshot. */
export interface ReadResult {
  /** What the answer depends on; its index is the highest of theirs. */
  readonly watched: Watched | readonly Watched[];
  /** Makes the JSON value (or a JsonText) of the answer; not called when the query goes on waiting. */
  readonly body?: () => unknown;
  /** Instead of a body: what is wrong, told with the same headers, so that a client can wait for it to be mended. */
  readonly error?: ServiceError;
  /**
   * Answers with the same key and snapshot are the same bytes: they are made once. Undefined where few ask for the same,
   * such as for a page: what is kept for nobody takes the place of what many ask for.
   */
  readonly shareKey?: string | undefined;
  /** Something was left out that the caller may not read. */
  readonly filtered?: boolean;
  /** Headers of the answer besides those of all reads, flat: name, value, name, value. */
  readonly headers?: readonly string[];
  /** What else makes the function run again, such as the row of the caller's token, without counting for the index. */
  readonly alsoWake?: readonly Topic[];
  /** Milliseconds since 1970 at which the caller's token expires: the function runs again then. */
  readonly expiresAtMs?: number | undefined;
  /** Whose waiting queries are counted together for `limits.waiting-per-token`. */
  readonly waiterKey?: string | undefined;
}

/** Works out a result, synchronously. @throws ServiceError to end the query with it */
export type Evaluate = (snapshot: Snapshot) => ReadResult;

export interface ReadsOptions {
  readonly state: State;
  readonly clock: Clock;
  /** Numbers from 0 up to 1. */
  readonly random: () => number;
  readonly defaultPolicy: 'allow' | 'deny';
  /** `stale.max-age`. */
  readonly staleMaxAgeMs: number;
  readonly waitingMax: number;
  readonly waitingPerTokenMax: number;
}

export interface Reads {
  /** Queries that wait. */
  readonly waitingCount: number;
  /** Answers the call now or later. `cacheable`: the endpoint takes `cached`. Returns what `Endpoint.handle` returns. */
  answer(call: Call, evaluate: Evaluate, options?: { readonly cacheable?: boolean }): undefined;
  /** Answers everything that waits, in slices; for the stop of the server. */
  drain(): void;
}

/** One read from its arrival to its answer. */
interface Query {
  readonly call: Call;
  readonly evaluate: Evaluate;
  readonly parameters: ReadParameters;
  /** By the monotonic clock. */
  deadlineMs: number;
  /** What holding it takes, while it waits. */
  held: Held | undefined;
}

interface Held {
  readonly waiterKey: string | undefined;
  readonly onGone: () => void;
  forget: () => void;
  cancelTimer: () => void;
}

/** When an expired token is still accepted, after how long it is looked at again: the wall clock was set back. */
const EXPIRY_RECHECK_MS = 1_000;

/** Makes the mechanism for one state. */
export function createReads(options: ReadsOptions): Reads {
  const { state, clock } = options;
  const holding = new Set<Query>();
  const count = new HeldCount(options.waitingMax, options.waitingPerTokenMax);

  function attempt(query: Query): void {
    const { call, parameters } = query;
    if (call.response.destroyed) return;
    try {
      if (parameters.consistency === 'stale') refuseTooOld();
      const { snapshot } = state;
      const result = query.evaluate(snapshot);
      if (mustWait(query, changedAt(result.watched), snapshot)) hold(query, result);
      else finish(query, result, snapshot);
    } catch (error) {
      fail(query, error);
    }
  }

  function mustWait({ call, parameters, deadlineMs }: Query, index: number, snapshot: Snapshot): boolean {
    const asked = parameters.index;
    if (asked === 0 || index > asked) return false;
    // An index that was never given out: nothing says when, or whether, it will be passed.
    if (asked > snapshot.index) return false;
    return !call.edge.stopping && clock.monotonic() < deadlineMs;
  }

  function hold(query: Query, result: ReadResult): void {
    const held = query.held ?? admit(query, result.waiterKey);
    held.forget();
    held.cancelTimer();
    held.forget = state.wait(topicsOf(result), () => attempt(query));
    held.cancelTimer = clock.after(restMs(query, result.expiresAtMs), () => attempt(query));
  }

  function admit(query: Query, waiterKey: string | undefined): Held {
    count.add(waiterKey);
    holding.add(query);
    const held: Held = { waiterKey, onGone: () => release(query), forget: nothing, cancelTimer: nothing };
    query.held = held;
    query.call.response.on('close', held.onGone);
    return held;
  }

  function release(query: Query): void {
    const { held } = query;
    if (held === undefined) return;
    query.held = undefined;
    holding.delete(query);
    count.remove(held.waiterKey);
    held.forget();
    held.cancelTimer();
    query.call.response.off('close', held.onGone);
  }

  function restMs({ deadlineMs }: Query, expiresAtMs: number | undefined): number {
    const restMs = deadlineMs - clock.monotonic();
    if (expiresAtMs === undefined) return restMs;
    const goodMs = expiresAtMs - clock.now();
    return Math.min(restMs, goodMs > 0 ? goodMs : EXPIRY_RECHECK_MS);
  }

  function refuseTooOld(): void {
    const ageMs = state.lastContactMs();
    if (ageMs <= options.staleMaxAgeMs) return;
    const seconds = Math.round(ageMs / 1000);
    throw new ServiceError('unavailable', `the store has been silent for ${seconds} s, longer than stale.max-age`, {
      retryAfterSeconds: 1,
    });
  }

  function finish(query: Query, result: ReadResult, snapshot: Snapshot): void {
    const { call, parameters } = query;
    const held = query.held !== undefined;
    release(query);
    const facts = {
      index: reportedIndex(result.watched),
      storeKnown: isStoreKnown(state),
      lastContactMs: Math.round(state.lastContactMs()),
      consistency: parameters.consistency,
      cached: parameters.cached,
      filtered: result.filtered === true,
    };
    const headers = readHeaders(facts, options.defaultPolicy);
    if (result.headers !== undefined) headers.push(...result.headers);
    const { error } = result;
    if (error !== undefined) {
      const told = new ServiceError(error.code, error.message, { headers: [...error.headers, ...headers] });
      sendError(call, told, held);
      return;
    }
    const rendered = renderResult(query, result, snapshot);
    const answer = renderedAnswer(call, rendered, { headers, held: held || undefined });
    if (answer instanceof Promise)
      answer.then((later) => sendAnswer(call, later)).catch((e: unknown) => sendError(call, e));
    else sendAnswer(call, answer);
  }

  function fail(query: Query, error: unknown): void {
    const held = query.held !== undefined;
    release(query);
    sendError(query.call, error, held);
  }

  function drain(): void {
    let left = ANSWER_SLICE;
    for (const query of holding) {
      if (left === 0) {
        setImmediate(drain);
        return;
      }
      left -= 1;
      attempt(query);
    }
  }

  return {
    get waitingCount() {
      return holding.size;
    },
    answer(call, evaluate, { cacheable = false } = {}) {
      const parameters = readParameters(call.query, cacheable);
      const query: Query = { call, evaluate, parameters, deadlineMs: 0, held: undefined };
      if (parameters.index !== 0) {
        const { waitMs } = parameters;
        query.deadlineMs = call.startedMs + waitMs + options.random() * waitMs * WAIT_JITTER_SHARE;
      }
      const barrier = parameters.consistency === 'consistent' ? state.consistent() : undefined;
      if (barrier === undefined) attempt(query);
      else barrier.then(() => attempt(query)).catch((error: unknown) => fail(query, error));
      return undefined;
    },
    drain,
  };
}

function renderResult({ call, parameters }: Query, { body, shareKey }: ReadResult, snapshot: Snapshot): Rendered {
  if (body === undefined) throw new TypeError(`a read of ${call.route.path} found neither a body nor an error`);
  if (shareKey === undefined) return render(body(), parameters.pretty);
  const key = `${call.route.path}\0${parameters.pretty ? 'pretty' : ''}\0${shareKey}`;
  const shared = snapshot.memo(
    key,
    () => rendered(body, parameters.pretty),
    ({ held }) => held,
  );
  if ('refusal' in shared) throw shared.refusal;
  return shared.answer;
}

type Shared = { readonly held: number } & ({ readonly answer: Rendered } | { readonly refusal: ServiceError });

/** What came of it, a refusal as well: what is too long to be answered is not put together again for each who asks. */
function rendered(body: () => unknown, pretty: boolean): Shared {
  try {
    const answer = render(body(), pretty);
    return { answer, held: bytesHeld(answer) };
  } catch (error) {
    if (error instanceof ServiceError) return { refusal: error, held: 0 };
    throw error;
  }
}

function changedAt(watched: ReadResult['watched']): number {
  return listOf(watched).reduce((highest, { index }) => Math.max(highest, index), 1);
}

function reportedIndex(watched: ReadResult['watched']): number {
  return listOf(watched).reduce((highest, { reported }) => Math.max(highest, reported), 1);
}

function topicsOf({ watched, alsoWake = [] }: ReadResult): Topic[] {
  return [...listOf(watched).map(({ topic }) => topic), ...alsoWake];
}

const listOf = (watched: ReadResult['watched']): readonly Watched[] => ('topic' in watched ? [watched] : watched);

const nothing = (): void => undefined;
