/**
 * The HTTP edge: one listener for all services and for operators.
 *
 * Fastify routes; it neither parses bodies (the declared type is not looked at), nor validates, nor serializes: each
 * service does that in its own form, and an answer is one write of a list of headers and a text. So a request costs
 * hardly more than with Node's bare server.
 *
 * A server listens first and opens later: while the state is being loaded, `/healthz` answers and everything else says
 * that it starts. Endpoints are added in between.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../state/clock.ts';
import { sendAnswer, sendError } from './answer.ts';
import type { Call, Edge, ErrorForm, Route } from './call.ts';
import { answerClientError } from './client-errors.ts';
import { allowedMethods, type Endpoint } from './endpoint.ts';
import { ServiceError } from './errors.ts';
import { HEADER_BYTES_MAX, LISTEN_BACKLOG } from './limits.ts';
import type { Log } from './log.ts';
import { type Certificate, createNodeServer, PATIENCE, type Patience, replaceCertificate } from './node-server.ts';
import { crossOriginHeaders, preflightHeaders } from './origin.ts';
import { parseQuery, type Query } from './query.ts';
import { readBody } from './read-body.ts';
import { createRequestIds } from './request-id.ts';
import { answerWhileStarting } from './starting.ts';
import { stopListening } from './stopping.ts';
import { createTraffic, type Traffic } from './traffic.ts';
import { errorAnswer } from './v1/error-answer.ts';

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** HTTPS with it, HTTP without. */
  readonly certificate?: Certificate;
  /** `http.allowed-origins`. */
  readonly allowedOrigins: readonly string[];
  readonly limits: { readonly connections: number; readonly body: number; readonly bulkBody: number };
  /** How services below a path tell errors; the others use the plain text of `/v1`. */
  readonly errorForms?: Readonly<Record<`/${string}/`, ErrorForm>>;
  /** Begins the ids of requests; differs between processes. */
  readonly requestIdPrefix: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly patience?: Patience;
}

/** What an endpoint was asked so far. */
export interface EndpointTraffic {
  readonly method: string;
  readonly path: string;
  readonly traffic: Traffic;
}

export interface HttpServer {
  /** Every endpoint, in the order in which they were added. */
  readonly endpoints: readonly Endpoint[];
  /** Counts by endpoint; requests that met none stand under the path `(none)`. */
  readonly traffic: readonly EndpointTraffic[];
  readonly edge: Edge;
  /** Adds an endpoint; before `open`. */
  add(endpoint: Endpoint): void;
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

const NO_BODY = Buffer.alloc(0);
const NO_PARAMS = {};
const NO_QUERY: Query = new Map();
const NO_HEADERS: readonly string[] = [];

/** Makes a server; it does not listen yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { clock, log } = options;
  const endpoints: Endpoint[] = [];
  const traffic: EndpointTraffic[] = [];
  const drains: (() => void)[] = [];
  const allowedOrigins = new Set(options.allowedOrigins.map((origin) => origin.toLowerCase()));
  const requestId = createRequestIds(options.requestIdPrefix);
  let stopping: Promise<void> | undefined;
  const edge: Edge = {
    log,
    clock,
    get stopping() {
      return stopping !== undefined;
    },
  };

  const starting = (request: IncomingMessage, response: ServerResponse): void =>
    answerWhileStarting(request, response, requestId(request.headers['x-request-id']));
  const node = createNodeServer(
    {
      certificate: options.certificate,
      connectionsMax: options.limits.connections,
      patience: options.patience ?? PATIENCE,
    },
    starting,
  );

  const app = fastify({
    serverFactory: () => node,
    genReqId: (request: IncomingMessage) => requestId(request.headers['x-request-id']),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, requestId(undefined)),
    frameworkErrors: (_error, request, reply) => {
      const problem = new ServiceError('bad-request', 'Invalid path: malformed percent-encoding');
      sendError(callOf(unknown, request, reply, NO_QUERY, NO_HEADERS), problem);
    },
    // Names have rules of their own, with better words than the router's.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX, querystringParser: () => NO_PARAMS },
  });
  // The router's parser goes by the declared type, which is not looked at: endpoints get the bytes.
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }

  const unknown: Route = { path: '(none)', errorForm: errorAnswer, traffic: createTraffic() };
  traffic.push({ method: '*', path: unknown.path, traffic: unknown.traffic });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const route = { ...unknown, errorForm: errorFormFor(path, options.errorForms) };
    const call = admit(route, request, reply);
    if (call !== undefined) answerWithoutEndpoint(call, path, allowedMethods(endpoints, path));
  });
  app.setErrorHandler((error, request, reply) => {
    sendError(callOf(unknown, request, reply, NO_QUERY, NO_HEADERS), error);
  });

  /** Makes the call of a request that may come in; answers it and gives none otherwise. */
  function admit(route: Route, request: FastifyRequest, reply: FastifyReply): Call | undefined {
    try {
      const crossOrigin =
        request.raw.headers.origin === undefined ? NO_HEADERS : crossOriginHeaders(request.raw, allowedOrigins);
      if (request.url.includes('%00'))
        throw new ServiceError('bad-request', 'Invalid path: it contains a NUL character');
      return callOf(route, request, reply, parseQuery(request.url), crossOrigin);
    } catch (error) {
      sendError(callOf(route, request, reply, NO_QUERY, NO_HEADERS), error);
      return undefined;
    }
  }

  function callOf(
    route: Route,
    request: FastifyRequest,
    reply: FastifyReply,
    query: Query,
    crossOrigin: readonly string[],
  ): Call {
    return {
      edge,
      route,
      id: request.id,
      request: request.raw,
      response: reply.raw as ServerResponse,
      params: request.params === null ? NO_PARAMS : (request.params as Record<string, string>),
      query,
      body: NO_BODY,
      crossOrigin,
      startedMs: clock.monotonic(),
    };
  }

  return {
    endpoints,
    traffic,
    edge,
    add(endpoint) {
      const { method, path } = endpoint;
      const route: Route = { path, errorForm: errorFormFor(path, options.errorForms), traffic: createTraffic() };
      endpoints.push(endpoint);
      traffic.push({ method, path, traffic: route.traffic });
      const bytesMax = endpoint.bulk ? options.limits.bulkBody : options.limits.body;
      const limit = { bytesMax, setting: endpoint.bulk ? 'limits.bulk-body' : 'limits.body' } as const;
      app.route({
        method,
        url: path,
        handler(request, reply) {
          const call = admit(route, request, reply);
          if (call === undefined) return;
          const body = method === 'GET' ? undefined : readBody(call.request, limit);
          if (body === undefined) run(endpoint, call);
          else body.then((bytes) => run(endpoint, { ...call, body: bytes })).catch((error) => sendError(call, error));
        },
      });
    },
    async listen() {
      node.listen({ host: options.host, port: options.port, backlog: LISTEN_BACKLOG });
      await once(node, 'listening');
      // Such as too many open files: the listener goes on with those that it has.
      node.on('error', (error) => log.warn({ error }, 'a connection could not be accepted'));
      return node.address() as AddressInfo;
    },
    async open() {
      await app.ready();
      node.off('request', starting);
      node.on('request', app.routing);
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

function run(endpoint: Endpoint, call: Call): void {
  try {
    const answer = endpoint.handle(call);
    if (answer === undefined) return;
    if (answer instanceof Promise) {
      answer.then((later) => sendAnswer(call, later)).catch((error: unknown) => sendError(call, error));
    } else {
      sendAnswer(call, answer);
    }
  } catch (error) {
    sendError(call, error);
  }
}

function answerWithoutEndpoint(call: Call, path: string, allow: string | undefined): void {
  const { method } = call.request;
  if (allow === undefined) {
    sendError(call, new ServiceError('not-found', `Nothing is served at ${JSON.stringify(path)}`));
  } else if (method === 'OPTIONS') {
    const cors = call.crossOrigin.length > 0 ? preflightHeaders(allow) : NO_HEADERS;
    sendAnswer(call, { status: 200, body: '', headers: ['Allow', allow, ...cors] });
  } else {
    const message = `method ${method} not allowed`;
    sendError(call, new ServiceError('method-not-allowed', message, { headers: ['Allow', allow] }));
  }
}

function errorFormFor(path: string, forms: HttpServerOptions['errorForms'] = {}): ErrorForm {
  for (const [prefix, form] of Object.entries(forms)) if (path.startsWith(prefix)) return form;
  return errorAnswer;
}
