/**
 * The client of all servers: sends requests, classifies their outcome, and checks the rules that every response obeys.
 */
import http from 'node:http';
import { type Answer, send } from '../test/support/process/server.ts';
import type { IndexTracker } from './index-tracker.ts';
import { REQUEST_TIMEOUT_MS } from './limits.ts';
import { linkedSignal } from './linked-signal.ts';
import type { Outcome } from './model.ts';
import type { RequestStats } from './request-stats.ts';
import type { ViolationLog } from './violation-log.ts';

/** The server that a request is sent to. It stays the same when the process restarts. */
export interface Target {
  readonly name: string;
  readonly cluster: string;
  /** `http://127.0.0.1:…` */
  readonly address: string;
  /** The secret ID of an ACL token. */
  readonly token: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The target's token by default; `null` sends none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The result of a request. */
export interface Result {
  readonly outcome: Outcome;
  /** Undefined if no response arrived. */
  readonly response: Answer | undefined;
  /** The status and body, or the error, for reports. */
  readonly text: string;
}

export interface SendOptions {
  /** The row of the request statistics. */
  readonly label: string;
  readonly signal?: AbortSignal;
  /** Query parameters that make the request a blocking query. The index check uses the path without them. */
  readonly blockingQuery?: string;
  /** REQUEST_TIMEOUT_MS by default. */
  readonly timeoutMs?: number;
}

export interface Client extends Disposable {
  send(target: Target, request: ApiRequest, options: SendOptions): Promise<Result>;
}

export interface ClientOptions {
  readonly stats: RequestStats;
  readonly violations: ViolationLog;
  readonly indexes: IndexTracker;
  /** Grows when a fault starts or ends, and is odd while a fault is active. */
  faultCount(): number;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

const PROBLEM = { accept: 'application/problem+json' };

export function createClient({ stats, violations, indexes, faultCount, now }: ClientOptions): Client {
  const agent = new http.Agent({ keepAlive: true });

  function checkResponse(
    response: Answer,
    target: Target,
    request: string,
    recordIndex: (index: number) => number | undefined,
  ): void {
    const report = (rule: string, expected: string, text: string): void =>
      violations.add({ rule, request, server: target.name, response: text, expected });
    const { status, text } = response;
    if (isInternalError(status)) {
      report('a server never returns an internal error', 'no 5xx status except 503', `${status} ${text}`);
    }
    const index = Number(response.headers['x-service-index'] ?? 0);
    const higher = index > 0 ? recordIndex(index) : undefined;
    if (higher !== undefined) report('an index never decreases', `at least ${higher}`, `index ${index}`);
  }

  return {
    async send(target, request, { label, signal, blockingQuery, timeoutMs = REQUEST_TIMEOUT_MS }) {
      const recordIndex = indexes.begin(target.cluster, request.path);
      const { method, body, token = target.token, headers = PROBLEM } = request;
      const path = blockingQuery === undefined ? request.path : withQuery(request.path, blockingQuery);
      using linked = linkedSignal(signal, timeoutMs);
      const [startedMs, faultsBefore] = [now(), faultCount()];
      const options = { body, token, headers, signal: linked.signal };
      const response = await send(agent, target.address, method, path, options).catch((error: Error) => error);
      const isResponse = !(response instanceof Error);
      const text = isResponse ? `${response.status} ${response.text}` : `${response.name}: ${response.message}`;
      if (signal?.aborted === true) return { outcome: 'unknown', response: undefined, text };
      const outcome = isResponse ? outcomeOf(response) : outcomeOfError(response);
      const isCalm = faultsBefore % 2 === 0 && faultsBefore === faultCount();
      stats.add({ label, outcome, durationMs: now() - startedMs, isCalm });
      if (isResponse) checkResponse(response, target, `${method} ${path}`, recordIndex);
      return { outcome, response: isResponse ? response : undefined, text };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

const isInternalError = (status: number): boolean => status >= 500 && status !== 503;

export function outcomeOf({ status, text }: Pick<Answer, 'status' | 'text'>): Outcome {
  if (status === 503) return /outcome[- ]unknown/.test(text) ? 'unknown' : 'unavailable';
  // A server may have committed the write before an internal error.
  if (status >= 500) return 'unknown';
  return status < 400 ? 'done' : 'rejected';
}

/** Returns `unavailable` only if the connection was refused, because no request was sent then. */
function outcomeOfError(error: NodeJS.ErrnoException): Outcome {
  return error.code === 'ECONNREFUSED' ? 'unavailable' : 'unknown';
}
