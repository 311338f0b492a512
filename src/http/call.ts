/** One HTTP request as endpoints see it: an immutable value. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../state/clock/clock.ts';
import type { Answer } from './answer.ts';
import type { ServiceError } from './errors.ts';
import type { Query } from './query.ts';
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
  /** `compat = consul`: responses repeat every `X-Service-…` header as `X-Consul-…`. */
  readonly consul: boolean;
}

/** Converts an error into a response in the format of one service. */
export type ErrorRenderer = (call: Call, error: ServiceError) => Answer;

export interface Route {
  /** The declared pattern, with `:name` for parameters. Safe to log, and of low cardinality. */
  readonly path: string;
  readonly renderError: ErrorRenderer;
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

/** Returns a signal that aborts when the client disconnects before it has received the response. */
export function disconnectSignal(call: Call): AbortSignal {
  const controller = new AbortController();
  call.response.once('close', () => {
    if (!call.response.writableFinished) controller.abort();
  });
  return controller.signal;
}
