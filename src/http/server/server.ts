/**
 * The HTTP edge: one listener for all services and for operators.
 *
 * A server listens first and opens later: while the state is being loaded, `/healthz` answers and everything else says
 * that it starts. Endpoints are added in between.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../state/clock/clock.ts';
import type { Edge, ErrorForm } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { LISTEN_BACKLOG } from '../limits.ts';
import type { Log } from '../telemetry/log.ts';
import type { EndpointTraffic } from '../telemetry/traffic.ts';
import type { CountUnserved } from './dispatch.ts';
import { type Certificate, createNodeServer, PATIENCE, type Patience, replaceCertificate } from './node-server.ts';
import { type LocalNames, originRules } from './origin.ts';
import { createRequestIds } from './request-id.ts';
import { createRouter } from './router.ts';
import { answerWhileStarting } from './starting.ts';
import { stopListening } from './stopping.ts';

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** HTTPS with it, HTTP without. */
  readonly certificate?: Certificate;
  /** `http.allowed-origins`. */
  readonly allowedOrigins: readonly string[];
  /** For nobody unless given. */
  readonly localNames?: LocalNames;
  readonly limits: { readonly connections: number; readonly body: number; readonly bulkBody: number };
  /** How services below a path tell errors; the others use the plain text of `/v1`. */
  readonly errorForms?: Readonly<Record<`/${string}/`, ErrorForm>>;
  /** `compat = consul`: answers repeat every `X-Service-…` header as `X-Consul-…`. */
  readonly consul?: boolean;
  /** Begins the ids of requests; differs between processes. */
  readonly requestIdPrefix: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly patience?: Patience;
}

export interface HttpServer {
  /** Every endpoint, in the order in which they were added. */
  readonly endpoints: readonly Endpoint[];
  /** Counts by endpoint; requests that met none stand under the path `(none)`. */
  readonly traffic: readonly EndpointTraffic[];
  /** Adds an endpoint; before `open`. */
  add(endpoint: Endpoint): void;
  /** Has every request below a path that no endpoint takes counted by the service there; before `open`. */
  countUnserved(prefix: `/${string}/`, count: CountUnserved): void;
  /** Starts to listen. @throws Error of the system, such as EADDRINUSE */
  listen(): Promise<AddressInfo>;
  /** Lets requests through to the endpoints. */
  open(): Promise<void>;
  /** Open connections, idle ones included. */
  connectionCount(): Promise<number>;
  /** Serves another certificate from now on. @throws Error when certificate and key do not fit */
  replaceCertificate(certificate: Certificate): void;
  /** Calls `drain` when the server is asked to stop: what is held back must be answered now. */
  onStop(drain: () => void): void;
  /** Stops listening, finishes what is under way within `graceMs`, then closes what is left. May be called again. */
  stop(graceMs: number): Promise<void>;
}

/** Makes a server; it does not listen yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { clock, log, limits, patience = PATIENCE } = options;
  const drains: (() => void)[] = [];
  const requestId = createRequestIds(options.requestIdPrefix);
  let stopping: Promise<void> | undefined;
  const edge: Edge = {
    log,
    clock,
    unreadMs: patience.unreadMs,
    consul: options.consul ?? false,
    get stopping() {
      return stopping !== undefined;
    },
  };
  const starting = (request: IncomingMessage, response: ServerResponse): void =>
    answerWhileStarting(request, response, requestId(request.headers['x-request-id']));
  const node = createNodeServer(
    {
      certificate: options.certificate,
      connectionsMax: limits.connections,
      patience,
    },
    starting,
  );
  const router = createRouter({
    node,
    edge,
    requestId,
    origins: originRules(options.allowedOrigins, options.localNames ?? 'for-nobody'),
    bodyLimit: ({ bulk }) =>
      bulk
        ? { bytesMax: limits.bulkBody, setting: 'limits.bulk-body' }
        : { bytesMax: limits.body, setting: 'limits.body' },
    errorForms: options.errorForms ?? {},
  });

  return {
    endpoints: router.endpoints,
    traffic: router.traffic,
    add: (endpoint) => router.add(endpoint),
    countUnserved: (prefix, count) => router.countUnserved(prefix, count),
    async listen() {
      node.listen({ host: options.host, port: options.port, backlog: LISTEN_BACKLOG });
      await once(node, 'listening');
      // Such as too many open files: the listener goes on with those that it has.
      node.on('error', (error) => log.warn({ error }, 'a connection could not be accepted'));
      return node.address() as AddressInfo;
    },
    async open() {
      const handle = await router.ready();
      node.off('request', starting);
      node.on('request', handle);
      // An expectation that nobody knows is no reason to refuse the request.
      node.on('checkExpectation', handle);
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
        stopping = stopListening(node, clock, graceMs);
        for (const drain of drains) drain();
      }
      return stopping;
    },
  };
}
