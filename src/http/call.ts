/** One request as endpoints see it: a value, made once and never changed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../state/clock/clock.ts';
import type { Answer } from './answer.ts';
import type { ServiceError } from './errors.ts';
import type { Query } from './query.ts';
import type { Log } from './telemetry/log.ts';
import type { Traffic } from './telemetry/traffic.ts';

/** What all requests of a server share. */
export interface Edge {
  readonly log: Log;
  readonly clock: Clock;
  /** The server is asked to stop: nothing waits any more, and connections close after their answer. */
  readonly stopping: boolean;
  /** How long a large answer may make no progress before its connection is closed. */
  readonly unreadMs: number;
  /** `compat = consul`: answers repeat every `X-Service-…` header as `X-Consul-…`. */
  readonly consul: boolean;
}

/** How a service tells its callers what went wrong. */
export type ErrorForm = (call: Call, error: ServiceError) => Answer;

/** Where a request arrived. */
export interface Route {
  /** As declared, with `:name` for parameters: safe to log, and few. */
  readonly path: string;
  readonly errorForm: ErrorForm;
  readonly traffic: Traffic;
}

export interface Call {
  readonly edge: Edge;
  readonly route: Route;
  /** Names the request in the log and in the answer's `X-Request-Id`. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Empty for methods that have none. */
  readonly body: Buffer;
  /** Headers that let the page of an allowed origin read the answer; flat. */
  readonly crossOrigin: readonly string[];
  /** When it arrived, by the monotonic clock. */
  readonly startedMs: number;
  /** Undefined: nothing is traced. */
  readonly span: Span | undefined;
}

/** What a caller's connection tells of it. */
export type Connection = Pick<Call['request']['socket'], 'destroyed'>;

/** A parameter of the path. @throws TypeError when the endpoint's path has none of that name; a mistake in code */
export function pathParameter(call: Call, name: string): string {
  const value = call.params[name];
  if (value === undefined) throw new TypeError(`the path ${call.route.path} has no parameter '${name}'`);
  return value;
}

/**
 * Whether a caller has left, for who looks before it begins something: that costs nothing while nobody looks, where
 * `callerSignal` listens.
 */
export const leftOf = (connection: Connection): Pick<AbortSignal, 'aborted'> => ({
  get aborted() {
    return connection.destroyed;
  },
});

/** Aborts when the caller leaves before it has its answer; for work that is not worth doing for nobody. */
export function callerSignal(call: Call): AbortSignal {
  const left = new AbortController();
  call.response.once('close', () => {
    if (!call.response.writableFinished) left.abort();
  });
  return left.signal;
}
