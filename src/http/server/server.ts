/**
 * The HTTP server: one listener for all services and for operators.
 *
 * A server listens before the state is loaded. Until `open`, it answers `/healthz` with 200 and all other requests with
 * 503. Endpoints are added between `listen` and `open`. [SRV-63]
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Measured } from '../../budget/measured.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { type Admission, createRequestIds, type ErrorRenderer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { LISTEN_BACKLOG } from '../limits.ts';
import { createUnsentBodies } from '../send-body.ts';
import type { Log } from '../telemetry/log.ts';
import type { EndpointTraffic } from '../telemetry/traffic.ts';
import { limitConnections } from './connection-limit.ts';
import {
  type Certificate,
  createNodeServer,
  DEFAULT_TIMEOUTS,
  replaceCertificate,
  stopNodeServer,
  type Timeouts,
} from './node-server.ts';
import { type LocalNames, originRules } from './origin.ts';
import { createPipeliningLimit } from './pipelining.ts';
import { createBodyReader } from './read-body.ts';
import { createRouter } from './router.ts';

/** The settings below `limits.` that the server enforces. */
export interface HttpLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly bodies: number;
  readonly body: number;
  readonly bulkBody: number;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Serves HTTPS if given, and HTTP otherwise. */
  readonly certificate?: Certificate;
  /** `http.allowed-origins`. */
  readonly allowedOrigins: readonly string[];
  /** Default: `never`. */
  readonly localNames?: LocalNames;
  readonly limits: HttpLimits;
  /** The error formats of services, by path prefix. Other paths use the format of `/v1`. */
  readonly errorRenderers?: Readonly<Record<`/${string}/`, ErrorRenderer>>;
  /** `compat = consul`: responses repeat every `X-Service-…` header as `X-Consul-…`. */
  readonly consul?: boolean;
  /** The start of generated request IDs. Must differ between processes. */
  readonly requestIdPrefix: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeouts?: Timeouts;
}

export interface HttpServer {
  /** All endpoints, in the order in which they were added. */
  readonly endpoints: readonly Endpoint[];
  /** Counts of each endpoint. Requests that no endpoint serves have the path `(none)`. */
  readonly traffic: readonly EndpointTraffic[];
  /** The budgets and rates of the server. */
  readonly budgets: readonly Measured[];
  /** Adds an endpoint. Must be called before `open`. */
  add(endpoint: Endpoint): void;
  /** Decides about all requests below `prefix`. Must be called before endpoints below `prefix` are added. */
  admitWith(prefix: `/${string}/`, admission: Admission): void;
  /** Starts to listen. @throws Error of the system, such as EADDRINUSE */
  listen(): Promise<AddressInfo>;
  open(): Promise<void>;
  /** Returns the number of open connections, including idle ones. */
  connectionCount(): Promise<number>;
  /** Uses another certificate for new connections. @throws Error if the key does not match */
  replaceCertificate(certificate: Certificate): void;
  /** Registers a callback that must answer all waiting queries when the server starts to stop. */
  onStop(drain: () => void): void;
  /** Stops listening, finishes requests, and closes the rest after `graceMs`. Later calls return the same promise. */
  stop(graceMs: number): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { clock, log, limits, timeouts = DEFAULT_TIMEOUTS } = options;
  const drains: (() => void)[] = [];
  const requestId = createRequestIds(options.requestIdPrefix);
  let stopping: Promise<void> | undefined;
  /** The HttpContext of all requests. Only `stop` changes it. */
  const context = {
    log,
    clock,
    writeStallMs: timeouts.writeStallMs,
    consul: options.consul ?? false,
    unsentBodies: createUnsentBodies(),
    stopping: false,
  };
  const starting = (request: IncomingMessage, response: ServerResponse): void =>
    answerWhileStarting(request, response, requestId(request.headers['x-request-id']));
  const node = createNodeServer(
    {
      certificate: options.certificate,
      timeouts,
      newRequestId: () => requestId(undefined),
    },
    starting,
  );
  const budgets = limitConnections(node, { total: limits.connections, perAddress: limits.connectionsPerAddress });
  const pipelining = createPipeliningLimit();
  const bodies = createBodyReader({ bytesMax: limits.bodies, largestBodyBytes: limits.bulkBody });
  const router = createRouter({
    context,
    requestId,
    origins: originRules(options.allowedOrigins, options.localNames ?? 'never'),
    bodies,
    bodyLimit: ({ bulk }) =>
      bulk
        ? { bytesMax: limits.bulkBody, setting: 'limits.bulk-body' }
        : { bytesMax: limits.body, setting: 'limits.body' },
    errorRenderers: options.errorRenderers ?? {},
  });

  return {
    endpoints: router.endpoints,
    traffic: router.traffic,
    budgets: [...budgets, pipelining.measured, bodies.budget, context.unsentBodies.budget],
    add: (endpoint) => router.add(endpoint),
    admitWith: (prefix, admission) => router.admitWith(prefix, admission),
    async listen() {
      node.listen({ host: options.host, port: options.port, backlog: LISTEN_BACKLOG });
      await once(node, 'listening');
      // For example too many open files. Open connections are not affected.
      node.on('error', (error) => log.warn({ error }, 'accept failed'));
      return node.address() as AddressInfo;
    },
    async open() {
      const listener = pipelining.limit(router.listener());
      node.off('request', starting);
      node.on('request', listener);
      // An unknown `Expect` header is ignored.
      node.on('checkExpectation', listener);
      // The server continues when it begins to read the body.
      node.on('checkContinue', listener);
    },
    connectionCount: () =>
      new Promise((resolve, reject) => {
        node.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
    replaceCertificate: (certificate) => replaceCertificate(node, certificate),
    onStop(drain) {
      drains.push(drain);
    },
    stop(graceMs) {
      if (stopping === undefined) {
        context.stopping = true;
        stopping = stopNodeServer(node, clock, graceMs);
        for (const drain of drains) drain();
      }
      return stopping;
    },
  };
}

const RETRY_AFTER_SECONDS = '1';

function answerWhileStarting(request: IncomingMessage, response: ServerResponse, id: string): void {
  const isHealthCheck = request.url === '/healthz' && (request.method === 'GET' || request.method === 'HEAD');
  const text = isHealthCheck ? 'ok' : 'the server is starting: its state is being loaded';
  const headers = [
    'X-Request-Id',
    id,
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(text.length),
  ];
  if (!isHealthCheck) headers.push('Retry-After', RETRY_AFTER_SECONDS);
  response.writeHead(isHealthCheck ? 200 : 503, headers);
  response.end(request.method === 'HEAD' ? undefined : text);
}
