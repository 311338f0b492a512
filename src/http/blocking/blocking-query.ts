/**
 * The loop behind every read of `/v1`, whether it waits or not. An endpoint provides a synchronous function,
 * `Evaluate`, that computes a result from a snapshot and names the topics that the result depends on.
 *
 * 1. A consistent read first waits for a barrier. A stale read uses the snapshot in memory, and fails if the store has
 *    been silent for longer than `stale.max-age`.
 * 2. The server responds immediately if the request has no `index`, if the result's index exceeds `index`, or if
 *    `index` exceeds the index of the snapshot. An index from the future may never be reached, because no server issued
 *    it.
 * 3. Otherwise the query waits, and evaluates again when a topic changes. Each evaluation authenticates the caller
 *    again. A result that is not newer continues the wait with the same deadline.
 * 4. At the deadline, and when the server stops, the query evaluates once more and responds with the current result.
 * 5. When the caller's token expires, the query evaluates again, which then fails.
 * 6. An error that an evaluation throws is the response.
 * 7. Waiting queries count against a budget, with a share for each token and address. A client that disconnects frees
 *    its place immediately.
 *
 * A waiting query is one object with three callbacks, and uses no CPU. The design target is 10,000 per server.
 */
import { addressKey } from '../../budget/address-key.ts';
import { type Budget, type BudgetLimits, type Claim, createBudget } from '../../budget/budget.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { WAKE_SLICE_WAITERS } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { State, Watched } from '../../state/state.ts';
import type { Topic } from '../../state/watch/change-notifier.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { WAIT_JITTER_SHARE, WAITING_RESERVE_SHARE, WAITING_RETRY_SECONDS } from '../limits.ts';
import { sendError } from '../send.ts';
import {
  isStoreReachable,
  type ReadContent,
  type ReadMetadata,
  type ReadParameters,
  readParameters,
  sendRead,
} from './read-protocol.ts';

export interface ReadResult extends ReadContent {
  /** The rows and index entries that the result depends on. The index of the result is the highest of theirs. */
  readonly watched: Watched | readonly Watched[];
  /** Topics that cause another evaluation without counting for the index, such as the row of the caller's token. */
  readonly alsoWake?: readonly Topic[];
  /** The expiry of the caller's token, in milliseconds since 1970. */
  readonly expiresAtMs?: number | undefined;
  /** The caller in the budget of waiting queries. Absent: only the total bounds the query. */
  readonly waiter?: Waiter;
}

export interface Waiter {
  /** Queries with the same key share `limits.waiting-per-token`. */
  readonly token: string;
  /** Whether the query may use the reserve for operators. Evaluated when the query begins to wait. */
  readonly isOperator: () => boolean;
}

type WaitingShare = 'token' | 'address';

/** Computes a result synchronously. @throws ServiceError to end the query with it */
export type Evaluate = (snapshot: Snapshot) => ReadResult;

export interface BlockingQueryOptions {
  readonly state: State;
  readonly clock: Clock;
  /** Returns numbers from 0 up to 1. */
  readonly random: () => number;
  readonly defaultPolicy: 'allow' | 'deny';
  readonly staleMaxAgeMs: number;
  readonly waitingMax: number;
  readonly waitingPerTokenMax: number;
  readonly waitingPerAddressMax: number;
}

export interface BlockingQueries {
  readonly waitingCount: number;
  readonly budget: Budget<WaitingShare>;
  /** Responds to the call now or later. @returns the value that `Endpoint.handle` must return */
  answer(call: Call, evaluate: Evaluate, options?: { readonly cacheable?: boolean }): undefined;
  /** Responds to all waiting queries, in slices, because the server stops. */
  drain(): void;
}

/** One read, from its arrival to its response. */
interface Query {
  readonly call: Call;
  readonly evaluate: Evaluate;
  readonly parameters: ReadParameters;
  /** On the monotonic clock. */
  deadlineMs: number;
  /** `undefined` unless the query waits. */
  wait: Wait | undefined;
}

/** The resources of a waiting query. */
interface Wait {
  readonly claim: Claim<WaitingShare>;
  readonly onClose: () => void;
  unwatch: () => void;
  cancelTimer: () => void;
}

/** Interval of evaluations after an expiry that the token outlived, because the wall clock was set back. */
const EXPIRY_RECHECK_MS = 1_000;

export function createBlockingQueries(options: BlockingQueryOptions): BlockingQueries {
  const { state, clock } = options;
  const waiting = new Set<Query>();
  const { waitingMax, waitingPerTokenMax, waitingPerAddressMax } = options;
  const budget = createBudget<WaitingShare>('waiting-queries', {
    total: waitingMax,
    reserve: Math.floor(waitingMax * WAITING_RESERVE_SHARE),
    shares: { token: waitingPerTokenMax, address: waitingPerAddressMax },
  });

  function step(query: Query): void {
    const { call, parameters } = query;
    if (call.response.destroyed) return;
    try {
      if (parameters.consistency === 'stale') checkAge();
      const { snapshot } = state;
      const result = query.evaluate(snapshot);
      if (mustWait(query, indexOf(result.watched), snapshot)) startWait(query, result);
      else finish(query, result, snapshot);
    } catch (error) {
      fail(query, error);
    }
  }

  function mustWait({ call, parameters, deadlineMs }: Query, index: number, snapshot: Snapshot): boolean {
    const requested = parameters.index;
    if (requested === 0 || index > requested || requested > snapshot.index) return false;
    return !call.context.stopping && clock.monotonic() < deadlineMs;
  }

  function startWait(query: Query, result: ReadResult): void {
    const wait = query.wait ?? enterWait(query, result.waiter);
    wait.unwatch();
    wait.cancelTimer();
    wait.unwatch = state.wait(topicsOf(result), () => step(query));
    wait.cancelTimer = clock.after(timeLeftMs(query, result.expiresAtMs), () => step(query));
  }

  function enterWait(query: Query, waiter: Waiter | undefined): Wait {
    const privileged = waiter?.isOperator() ?? false;
    // Operators may share the address of a proxy with the clients that they have to stop.
    const address = privileged ? undefined : addressKey(query.call.request.socket.remoteAddress);
    const claim = { keys: { token: waiter?.token, address }, privileged };
    const bound = budget.take(claim);
    if (bound !== undefined) throw tooManyWaiting(bound, budget.limits);
    waiting.add(query);
    const wait: Wait = { claim, onClose: () => leaveWait(query), unwatch: nothing, cancelTimer: nothing };
    query.wait = wait;
    query.call.response.on('close', wait.onClose);
    return wait;
  }

  /** Frees the resources of a wait. @returns whether the query waited */
  function leaveWait(query: Query): boolean {
    const { wait } = query;
    if (wait === undefined) return false;
    query.wait = undefined;
    waiting.delete(query);
    budget.release(wait.claim);
    wait.unwatch();
    wait.cancelTimer();
    query.call.response.off('close', wait.onClose);
    return true;
  }

  function timeLeftMs({ deadlineMs }: Query, expiresAtMs: number | undefined): number {
    const waitLeftMs = deadlineMs - clock.monotonic();
    if (expiresAtMs === undefined) return waitLeftMs;
    const tokenLeftMs = expiresAtMs - clock.now();
    return Math.min(waitLeftMs, tokenLeftMs > 0 ? tokenLeftMs : EXPIRY_RECHECK_MS);
  }

  function checkAge(): void {
    const ageMs = state.lastContactMs();
    if (ageMs <= options.staleMaxAgeMs) return;
    const seconds = Math.round(ageMs / 1000);
    throw new ServiceError('unavailable', `the store has been silent for ${seconds} s, longer than stale.max-age`, {
      retryAfterSeconds: 1,
    });
  }

  function finish(query: Query, result: ReadResult, snapshot: Snapshot): void {
    const { call, parameters } = query;
    const waited = leaveWait(query);
    const metadata: ReadMetadata = {
      index: reportedIndexOf(result.watched),
      storeReachable: isStoreReachable(state),
      lastContactMs: Math.round(state.lastContactMs()),
      consistency: parameters.consistency,
      cached: parameters.cached,
      filtered: result.filtered === true,
      defaultPolicy: options.defaultPolicy,
    };
    sendRead(call, result, { metadata, snapshot, pretty: parameters.pretty, waited });
  }

  function fail(query: Query, error: unknown): void {
    const waited = leaveWait(query);
    sendError(query.call, error, waited);
  }

  function drain(): void {
    let left = WAKE_SLICE_WAITERS;
    for (const query of waiting) {
      if (left === 0) {
        setImmediate(drain);
        return;
      }
      left -= 1;
      step(query);
    }
  }

  return {
    get waitingCount() {
      return waiting.size;
    },
    budget,
    answer(call, evaluate, { cacheable = false } = {}) {
      const parameters = readParameters(call.query, cacheable);
      const query: Query = { call, evaluate, parameters, deadlineMs: 0, wait: undefined };
      if (parameters.index !== 0) {
        const { waitMs } = parameters;
        query.deadlineMs = call.startedMs + waitMs + options.random() * waitMs * WAIT_JITTER_SHARE;
      }
      const barrier = parameters.consistency === 'consistent' ? state.consistent() : undefined;
      if (barrier === undefined) step(query);
      else barrier.then(() => step(query)).catch((error: unknown) => fail(query, error));
      return undefined;
    },
    drain,
  };
}

/** Returns the error for a query that the budget refuses. [SRV-58] */
function tooManyWaiting(bound: 'total' | WaitingShare, { total, shares }: BudgetLimits<WaitingShare>): ServiceError {
  const texts = {
    total: `${total} queries are waiting already (limits.waiting)`,
    token: `${shares.token} queries are waiting with this token already (limits.waiting-per-token)`,
    address: `${shares.address} queries are waiting from this address already (limits.connections-per-address)`,
  };
  return new ServiceError('rate-limited', texts[bound], { retryAfterSeconds: WAITING_RETRY_SECONDS });
}

/** Returns the index that is compared with the requested one. At least 1, because clients read 0 as "no index". */
function indexOf(watched: ReadResult['watched']): number {
  return listOf(watched).reduce((highest, { index }) => Math.max(highest, index), 1);
}

/** Returns the index for the client, which never falls when the client changes servers. [STATE-75] */
function reportedIndexOf(watched: ReadResult['watched']): number {
  return listOf(watched).reduce((highest, { reportedIndex }) => Math.max(highest, reportedIndex), 1);
}

function topicsOf({ watched, alsoWake = [] }: ReadResult): Topic[] {
  return [...listOf(watched).map(({ topic }) => topic), ...alsoWake];
}

const listOf = (watched: ReadResult['watched']): readonly Watched[] => ('topic' in watched ? [watched] : watched);

const nothing = (): void => undefined;
