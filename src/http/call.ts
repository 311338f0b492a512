/** HTTP requests and responses as endpoints see them: immutable values. Also creates request IDs and parses queries. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../state/clock/clock.ts';
import { StateError } from '../state/errors.ts';
import { ServiceError } from './errors.ts';
import { QUOTED_LENGTH_MAX, REQUEST_ID_LENGTH_MAX } from './limits.ts';
import type { UnsentBodies } from './send-body.ts';
import type { Log } from './telemetry/log.ts';
import type { Traffic } from './telemetry/traffic.ts';

/** The values that all requests of a server share. */
export interface HttpContext {
  readonly log: Log;
  readonly clock: Clock;
  /** Whether the server is stopping. Then no query waits, and connections close after their response. */
  readonly stopping: boolean;
  /** Maximum time without progress of a large response before its connection is closed. */
  readonly writeStallMs: number;
  readonly unsentBodies: UnsentBodies;
  /** `compat = consul`: responses repeat every `X-Service-…` header as `X-Consul-…`. */
  readonly consul: boolean;
}

/** What a service finds out about a request from its headers, before the server reads the body. */
export interface Admitted {
  /** Headers of every answer to the request; flat. */
  readonly headers: readonly string[];
  /** SHA-256 of the presented secret; `undefined` if the request has none, or an invalid one. */
  readonly secretHash: string | undefined;
}

/** The caller whose share of the budget of bodies a body uses, or the answer to a large body that is refused unread. */
export type BodyOwner =
  | { readonly caller: string; readonly isOperator: boolean }
  | { readonly caller: undefined; readonly refusal: ServiceError };

/** The decisions of a service about requests below its path prefix, by their headers. */
export interface Admission {
  /** Counts a request against the rates of the service. @throws ServiceError `rate-limited` */
  admit(call: Call): Admitted;
  /** Finds the caller of a request that has a body, and decides by the headers whether to read a large one. */
  bodyOwner(call: Call): BodyOwner;
  /**
   * Checks a request that no endpoint serves. `pathIsServed`: endpoints have the path, with other methods.
   * @throws ServiceError instead of 404 or 405
   */
  readonly rejectUnmatched?: ((call: Call, pathIsServed: boolean) => void) | undefined;
}

/** Converts an error into a response in the format of one service. */
export type ErrorRenderer = (call: Call, error: ServiceError) => Answer;

export interface Route {
  /** The declared pattern, with `:name` for parameters. Safe to log, and of low cardinality. */
  readonly path: string;
  /** The names of the query parameters that the endpoint declares. */
  readonly query: readonly string[];
  /** The media type of the body, if the endpoint declares another one than its service. */
  readonly bodyType: string | undefined;
  readonly renderError: ErrorRenderer;
  /** Absent for paths of no service, such as `/metrics`. */
  readonly admission: Admission | undefined;
  readonly traffic: Traffic;
}

export interface Call {
  readonly context: HttpContext;
  readonly route: Route;
  /** Identifies the request in the log and in the response's `X-Request-Id`. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Empty for `GET` and for requests without a body. */
  readonly body: Buffer;
  /** `undefined` if the path belongs to no service. */
  readonly admitted: Admitted | undefined;
  /** Headers that let a page of an allowed origin read the response; flat. */
  readonly corsHeaders: readonly string[];
  /** Arrival time of the request on the monotonic clock. */
  readonly startedMs: number;
  /** `undefined` if tracing is off. */
  readonly span: Span | undefined;
}

/** The part of a socket that shows whether its client has disconnected. */
export type ClientConnection = Pick<Call['request']['socket'], 'destroyed'>;

/** Returns a path parameter. @throws TypeError if the path of the endpoint does not declare it */
export function pathParameter(call: Call, name: string): string {
  const value = call.params[name];
  if (value === undefined) throw new TypeError(`the path ${call.route.path} has no parameter '${name}'`);
  return value;
}

/** Returns a signal whose `aborted` reports whether the client has disconnected. Polled; registers no listener. */
export const polledDisconnectSignal = (connection: ClientConnection): Pick<AbortSignal, 'aborted'> => ({
  get aborted() {
    return connection.destroyed;
  },
});

const NEVER_ABORTED = new AbortController().signal;

/** Returns a signal that aborts when the client disconnects before it has received the response. */
export function disconnectSignal(call: Call): AbortSignal {
  const { response } = call;
  // The client may have disconnected while the server waited for the store. No 'close' follows then.
  if (response.closed) return response.writableFinished ? NEVER_ABORTED : AbortSignal.abort();
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** Stops work for a client that has disconnected. @throws StateError `aborted` */
export function checkConnected({ request }: Call): void {
  if (request.socket.destroyed) throw new StateError('aborted', 'the client disconnected before the answer');
}

export interface Answer {
  readonly status: number;
  /** `undefined` if the body is empty. */
  readonly contentType?: string;
  readonly body: string | Buffer;
  /** Length of the body in bytes, if it is already known. */
  readonly bytes?: number;
  /** Alternating names and values in one array, the form that Node writes fastest. */
  readonly headers?: readonly string[] | undefined;
  /** Whether the request waited as a blocking query. Its duration is then left out of the metrics. */
  readonly waited?: true | undefined;
}

export const emptyAnswer: Answer = { status: 200, body: '' };

export const textAnswer = (status: number, text: string, headers: readonly string[] = []): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: text,
  headers,
});

/** The parsed query string of a request. If a name is repeated, the first value counts. */
export type Query = ReadonlyMap<string, string>;

const EMPTY: Query = new Map();

/** Names that clients use for secrets. They are rejected, because query strings end up in logs and histories. */
const SECRET_NAMES = new Set([
  'token',
  'x-service-token',
  'x-consul-token',
  'access_token',
  'api_token',
  'authorization',
  'secret',
  'secretid',
]);

/** The families of parameters that select the data of a request. Two different values are an error. */
const SINGLE_VALUED = new Set(['partition', 'dc', 'ns', 'peer', 'filter', 'search', 'q', 'sort', 'include']);

/** Returns a name in lower case and without what follows its first bracket: `filter[team][id]` → `filter`. */
export const parameterFamily = (name: string): string => name.replace(/\[.*/s, '').toLowerCase();

/** Whether two values of a parameter contradict each other. The names of partitions ignore case. */
const isConflict = (name: string, first: string, second: string): boolean =>
  first !== second &&
  SINGLE_VALUED.has(parameterFamily(name)) &&
  (name !== 'partition' || first.toLowerCase() !== second.toLowerCase());

/** Parameters that may be logged, because they identify no person and contain no secret. [SRV-75] */
const LOGGED_NAMES = new Set(['index', 'wait', 'consistent', 'stale', 'cached', 'pretty', 'limit', 'partition']);

/** Parses the query string of a URL. @throws ServiceError `bad-request` for malformed encoding or a secret */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?');
  if (start === -1 || start === url.length - 1) return EMPTY;
  const query = new Map<string, string>();
  for (const part of url.slice(start + 1).split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    if (SECRET_NAMES.has(name.toLowerCase())) {
      throw new ServiceError(
        'bad-request',
        `Invalid query parameter: ${JSON.stringify(name)} - secrets are not accepted in the query string, use a header`,
      );
    }
    const value = equals === -1 ? '' : decode(part.slice(equals + 1));
    const first = query.get(name);
    if (first === undefined) query.set(name, value);
    else if (isConflict(name, first, value)) throw conflictingValues(name, first, value);
  }
  return query;
}

const conflictingValues = (name: string, first: string, second: string): ServiceError =>
  new ServiceError(
    'bad-request',
    `Invalid query parameter: ${JSON.stringify(name)} - it is given twice, as ${quoted(first)} and ${quoted(second)}: want one`,
    { parameter: name },
  );

const quoted = (value: string): string => JSON.stringify(value.slice(0, QUOTED_LENGTH_MAX));

/** Returns the part of a query that may be logged, or `undefined` if it is empty. */
export function loggedQuery(query: Query): string | undefined {
  const logged = [...query].filter(([name]) => LOGGED_NAMES.has(name));
  return logged.length === 0 ? undefined : logged.map(([name, value]) => `${name}=${value}`).join('&');
}

function decode(text: string): string {
  const decoded = percentDecoded(text.replaceAll('+', ' '));
  if (decoded === undefined) throw new ServiceError('bad-request', 'Invalid query string: malformed percent-encoding');
  if (decoded.includes('\0'))
    throw new ServiceError('bad-request', 'Invalid query string: it contains a NUL character');
  return decoded;
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Request IDs that are safe in a header and a log line. [SRV-59] */
const VALID_REQUEST_ID = new RegExp(`^[A-Za-z0-9_.:-]{1,${REQUEST_ID_LENGTH_MAX}}$`);

/** Keeps a valid `X-Request-Id`. New IDs use a counter: a random number would cost more than the rest of a request. */
export function createRequestIds(prefix: string): (given: string | string[] | undefined) => string {
  let count = 0;
  return (given) => {
    if (typeof given === 'string' && VALID_REQUEST_ID.test(given)) return given;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
