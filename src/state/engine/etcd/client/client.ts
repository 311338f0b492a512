/**
 * Calls to etcd: one endpoint at a time, the next one when it fails.
 *
 * A call is never repeated here unless the caller says that it may be (`retry`): whether a failed call was applied is
 * not known, and only the caller knows what a second one would do.
 */
import { type CallOptions, type Client, ConnectError, createClient } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../clock/clock.ts';
import { DeadlineError, withDeadline } from '../../../clock/deadline.ts';
import { StateError } from '../../../errors.ts';
import { CALL_TIMEOUT_MS, RETRY_MS_MAX, RETRY_MS_MIN } from '../limits.ts';
import { failureKind, stateErrorOf } from './failures.ts';
import { Auth, KV, Lease, Watch } from './gen/etcd_pb.ts';
import type { EtcdEngineOptions } from './options.ts';
import { grpcLink, type Link } from './transport.ts';

/** One endpoint's services. */
export interface Endpoint extends Link {
  readonly url: string;
  readonly kv: Client<typeof KV>;
  readonly watch: Client<typeof Watch>;
  readonly lease: Client<typeof Lease>;
  readonly auth: Client<typeof Auth>;
}

/** What a call is made of: the endpoint to use and the options to pass on. */
export type Use<T> = (endpoint: Endpoint, options: CallOptions) => Promise<T>;

export interface EtcdClient {
  /** One try within the deadline. A failure that may be the endpoint's fault moves on to the next one. */
  attempt<T>(use: Use<T>, signal: AbortSignal, timeoutMs?: number): Promise<T>;
  /**
   * Tries until etcd answers. For requests that may be made twice.
   * @throws StateError `unavailable` when the signal aborts; etcd's own refusal as it came
   */
  retry<T>(use: Use<T>, signal: AbortSignal, timeoutMs?: number): Promise<T>;
  /** Runs a stream for as long as it lasts, on the endpoint in use. */
  stream<T>(use: Use<T>, signal: AbortSignal): Promise<T>;
  /** The token may have been refused by other means than an error: the next call authenticates again. */
  forgetToken(): void;
  /** Monotonic time of the last answer, undefined before the first. */
  answeredAt(): number | undefined;
  close(): void;
}

/** Pause before try number `failures + 1`: none while there are endpoints left that were not tried. */
export function retryPauseMs(failures: number, endpoints: number): number {
  if (failures < endpoints) return 0;
  return Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(failures - endpoints, 10));
}

/** A client of the endpoints in `options`; nothing is opened before the first call. */
export function createEtcdClient(options: EtcdEngineOptions): EtcdClient {
  const { clock } = options;
  const endpoints = options.endpoints.map((url) => openEndpoint(url, options));
  const authorization = createAuthorization(options);
  let current = 0;
  let answeredAt: number | undefined;
  /** Calls that failed in a row. */
  let failed = 0;

  const endpointInUse = (): Endpoint => {
    const endpoint = endpoints[current % endpoints.length];
    if (endpoint === undefined) throw new Error('etcd needs at least one endpoint');
    return endpoint;
  };

  /** Several calls fail together: only the first of them moves on. */
  const blame = (endpoint: Endpoint, error: unknown): void => {
    if (!(error instanceof ConnectError || error instanceof DeadlineError)) return;
    const kind = failureKind(error);
    if (kind === 'unauthenticated') authorization.forget();
    if (kind !== 'unreachable') return;
    failed += 1;
    if (failed === endpoints.length) {
      options.log('warn', 'etcd does not answer', { endpoint: endpoint.url, error: String(error) });
    }
    if (error instanceof DeadlineError) endpoint.drop(error);
    if (endpointInUse() === endpoint) current += 1;
  };

  const run = async <T>(use: Use<T>, signal: AbortSignal, timeoutMs: number): Promise<T> => {
    const endpoint = endpointInUse();
    try {
      return await withDeadline(clock, timeoutMs, signal, async (inner) => {
        const headers = await authorization.headers(endpoint, inner);
        return use(endpoint, { signal: inner, headers });
      });
    } catch (error) {
      if (!signal.aborted) blame(endpoint, error);
      throw error;
    }
  };

  const attempt = async <T>(use: Use<T>, signal: AbortSignal, timeoutMs = CALL_TIMEOUT_MS): Promise<T> => {
    const answer = await run(use, signal, timeoutMs);
    answeredAt = clock.monotonic();
    if (failed >= endpoints.length) options.log('info', 'etcd answers again', { endpoint: endpointInUse().url });
    failed = 0;
    return answer;
  };

  return {
    attempt,
    stream: (use, signal) => run(use, signal, Number.POSITIVE_INFINITY),
    async retry(use, signal, timeoutMs) {
      let last: unknown;
      for (let failures = 0; ; failures += 1) {
        try {
          await pause(clock, retryPauseMs(failures, endpoints.length), signal);
          return await attempt(use, signal, timeoutMs);
        } catch (error) {
          if (signal.aborted) throw givenUp(last ?? error);
          if (!mayPass(error)) throw error;
          last = error;
        }
      }
    },
    forgetToken: () => authorization.forget(),
    answeredAt: () => answeredAt,
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
    auth: createClient(Auth, link.transport),
  };
}

/** Whether another try can help: anything else is etcd's considered answer. */
function mayPass(error: unknown): boolean {
  const kind = failureKind(error);
  return kind === 'unreachable' || kind === 'unauthenticated';
}

/** The caller's time is over: its last failure says more than that. */
function givenUp(error: unknown): StateError {
  const known = stateErrorOf(error);
  if (known instanceof StateError) return known;
  return new StateError('unavailable', 'etcd did not answer in time', { cause: error });
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return ms === 0 ? Promise.resolve() : sleep(clock, ms, signal);
}

interface Authorization {
  headers(endpoint: Endpoint, signal: AbortSignal): Promise<Record<string, string>>;
  /** The token was refused: the next call authenticates again. */
  forget(): void;
}

/** Keeps etcd's token; without credentials there is none. */
function createAuthorization({ credentials, clock }: EtcdEngineOptions): Authorization {
  let token: string | undefined;
  return {
    async headers(endpoint, signal) {
      if (credentials === undefined) return {};
      // With a deadline of its own: a stream has none that would end a wait for a silent endpoint.
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
    // Credentials may be configured before etcd's authentication is enabled; it then refuses to authenticate anyone.
    if (failureKind(error) === 'refused' && String(error).includes('authentication is not enabled')) return '';
    throw error;
  }
}
