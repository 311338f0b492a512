/**
 * Calls to etcd. The client uses one endpoint at a time and moves to the next when a call gets no answer [ETCD-2].
 *
 * Only `retry` repeats a call. Whether a failed call was applied is unknown, so each caller decides whether a second
 * attempt is safe [ETCD-5].
 */
import { type CallOptions, type Client, ConnectError, createClient } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../clock/clock.ts';
import { DeadlineError, withDeadline } from '../../../clock/deadline.ts';
import { StateError } from '../../../errors.ts';
import { CALL_TIMEOUT_MS, RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MIN } from '../limits.ts';
import { failureKind, toStateError } from './failures.ts';
import { Auth, KV, Lease, Maintenance, Watch } from './gen/etcd_pb.ts';
import type { EtcdEngineOptions } from './options.ts';
import { grpcLink, type Link } from './transport.ts';

export interface Endpoint extends Link {
  readonly url: string;
  readonly kv: Client<typeof KV>;
  readonly watch: Client<typeof Watch>;
  readonly lease: Client<typeof Lease>;
  readonly maintenance: Client<typeof Maintenance>;
  readonly auth: Client<typeof Auth>;
}

/** One call to etcd: uses the given endpoint, and passes the options on. */
export type Call<T> = (endpoint: Endpoint, options: CallOptions) => Promise<T>;

export interface EtcdClient {
  /** Makes one attempt within the deadline. If the endpoint does not answer, the next call uses the next endpoint. */
  attempt<T>(call: Call<T>, signal: AbortSignal, timeoutMs?: number): Promise<T>;
  /**
   * Repeats a call until etcd answers. The request must be safe to repeat.
   * @throws StateError `unavailable` when the signal aborts; a rejection by etcd unchanged
   */
  retry<T>(call: Call<T>, signal: AbortSignal, timeoutMs?: number): Promise<T>;
  /** Runs a stream on the current endpoint, without a deadline. */
  stream<T>(call: Call<T>, signal: AbortSignal): Promise<T>;
  /** Makes the next call authenticate again. For a token that etcd may have rejected without an error. */
  forgetToken(): void;
  /** Monotonic time of the last successful call, undefined before the first [ETCD-11]. */
  lastAnswerAt(): number | undefined;
  close(): void;
}

/** Returns the pause before the next attempt: none until every endpoint was tried [ETCD-4]. */
export function retryPauseMs(failures: number, endpoints: number): number {
  if (failures < endpoints) return 0;
  return Math.min(RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MIN * 2 ** Math.min(failures - endpoints, 10));
}

/** Creates a client of the endpoints in `options`. The first call opens a connection. */
export function createEtcdClient(options: EtcdEngineOptions): EtcdClient {
  const { clock } = options;
  const endpoints = options.endpoints.map((url) => openEndpoint(url, options));
  const authorization = createAuthorization(options);
  let current = 0;
  let lastAnswerAt: number | undefined;
  let failuresInARow = 0;

  const endpointInUse = (): Endpoint => {
    const endpoint = endpoints[current % endpoints.length];
    if (endpoint === undefined) throw new Error('etcd needs at least one endpoint');
    return endpoint;
  };

  /** Moves to the next endpoint if etcd did not answer; once if several calls fail together. */
  const recordFailure = (endpoint: Endpoint, error: unknown): void => {
    if (!(error instanceof ConnectError || error instanceof DeadlineError)) return;
    const kind = failureKind(error);
    if (kind === 'unauthenticated') authorization.forget();
    if (kind !== 'unreachable') return;
    failuresInARow += 1;
    if (failuresInARow === endpoints.length) {
      options.log('warn', 'etcd does not answer', { endpoint: endpoint.url, error: String(error) });
    }
    if (error instanceof DeadlineError) endpoint.drop(error);
    if (endpointInUse() === endpoint) current += 1;
  };

  const run = async <T>(call: Call<T>, signal: AbortSignal, timeoutMs: number): Promise<T> => {
    const endpoint = endpointInUse();
    try {
      return await withDeadline(clock, timeoutMs, signal, async (inner) => {
        const headers = await authorization.headers(endpoint, inner);
        return call(endpoint, { signal: inner, headers });
      });
    } catch (error) {
      if (!signal.aborted) recordFailure(endpoint, error);
      throw error;
    }
  };

  const attempt = async <T>(call: Call<T>, signal: AbortSignal, timeoutMs = CALL_TIMEOUT_MS): Promise<T> => {
    const answer = await run(call, signal, timeoutMs);
    lastAnswerAt = clock.monotonic();
    if (failuresInARow >= endpoints.length)
      options.log('info', 'etcd answers again', { endpoint: endpointInUse().url });
    failuresInARow = 0;
    return answer;
  };

  return {
    attempt,
    stream: (call, signal) => run(call, signal, Number.POSITIVE_INFINITY),
    async retry(call, signal, timeoutMs) {
      let last: unknown;
      for (let failures = 0; ; failures += 1) {
        try {
          await pause(clock, retryPauseMs(failures, endpoints.length), signal);
          return await attempt(call, signal, timeoutMs);
        } catch (error) {
          if (signal.aborted) throw toAbortError(last ?? error);
          if (!isRetryable(error, options.credentials !== undefined)) throw error;
          last = error;
        }
      }
    },
    forgetToken: () => authorization.forget(),
    lastAnswerAt: () => lastAnswerAt,
    close() {
      for (const endpoint of endpoints) endpoint.drop(new Error('the engine is closed'));
    },
  };
}

function openEndpoint(url: string, options: EtcdEngineOptions): Endpoint {
  const link = options.connect === undefined ? grpcLink(url, options.tls) : options.connect(url);
  return {
    url,
    transport: link.transport,
    drop: (reason) => link.drop(reason),
    kv: createClient(KV, link.transport),
    watch: createClient(Watch, link.transport),
    lease: createClient(Lease, link.transport),
    maintenance: createClient(Maintenance, link.transport),
    auth: createClient(Auth, link.transport),
  };
}

/** Whether another attempt can succeed. All other failures are rejections that etcd would repeat. */
function isRetryable(error: unknown, hasCredentials: boolean): boolean {
  const kind = failureKind(error);
  return kind === 'unreachable' || (kind === 'unauthenticated' && hasCredentials);
}

/** Returns the error for a call whose signal aborted: its last failure, if etcd caused it. */
function toAbortError(error: unknown): StateError {
  const known = toStateError(error);
  if (known instanceof StateError) return known;
  return new StateError('unavailable', 'etcd did not answer in time', { cause: error });
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return ms === 0 ? Promise.resolve() : sleep(clock, ms, signal);
}

interface Authorization {
  headers(endpoint: Endpoint, signal: AbortSignal): Promise<Record<string, string>>;
  forget(): void;
}

/** Returns the header with etcd's token [ETCD-8]; without credentials, no header. */
function createAuthorization({ credentials, clock }: EtcdEngineOptions): Authorization {
  let token: string | undefined;
  return {
    async headers(endpoint, signal) {
      if (credentials === undefined) return {};
      // A stream has no deadline, so authentication needs one of its own.
      token ??= await withDeadline(clock, CALL_TIMEOUT_MS, signal, (inner) =>
        authenticate(endpoint, credentials, inner),
      );
      return token === '' ? {} : { token };
    },
    forget() {
      token = undefined;
    },
  };
}

async function authenticate(
  endpoint: Endpoint,
  { username, password }: { username: string; password: string },
  signal: AbortSignal,
): Promise<string> {
  try {
    return (await endpoint.auth.authenticate({ name: username, password }, { signal })).token;
  } catch (error) {
    // Credentials may be configured before authentication is enabled in etcd [ETCD-9].
    if (failureKind(error) === 'rejected' && String(error).includes('authentication is not enabled')) return '';
    throw error;
  }
}
