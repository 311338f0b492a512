/**
 * From requests to endpoints. Fastify finds the route, and nothing else: it neither parses bodies (the declared type is
 * not looked at), nor validates, nor serializes; each service does that in its own form. So a request costs hardly
 * more than with Node's bare server.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Call, Edge, ErrorForm, Route } from '../call.ts';
import { allowedMethods, type Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { HEADER_BYTES_MAX } from '../limits.ts';
import { parseQuery, type Query } from '../query.ts';
import { sendError } from '../send.ts';
import { startRequestSpan } from '../telemetry/request-span.ts';
import { createTraffic, type EndpointTraffic } from '../telemetry/traffic.ts';
import { errorAnswer } from '../v1/error-answer.ts';
import { answerClientError } from './client-errors.ts';
import { answerWithoutEndpoint, type CountUnserved, runEndpoint } from './dispatch.ts';
import { crossOriginHeaders, type OriginRules } from './origin.ts';
import { type BodyLimit, readBody } from './read-body.ts';

export interface RouterOptions {
  /** The server whose requests are routed. */
  readonly node: Server;
  readonly edge: Edge;
  /** The name of a request, from its `X-Request-Id`. */
  readonly requestId: (given: string | string[] | undefined) => string;
  readonly origins: OriginRules;
  readonly bodyLimit: (endpoint: Endpoint) => BodyLimit;
  /** How services below a path tell errors; the others use the plain text of `/v1`. */
  readonly errorForms: Readonly<Record<string, ErrorForm>>;
}

export interface Router {
  readonly endpoints: readonly Endpoint[];
  /** Counts by endpoint; requests that met none stand under the path `(none)`. */
  readonly traffic: readonly EndpointTraffic[];
  /** Adds an endpoint; before `ready`. */
  add(endpoint: Endpoint): void;
  /** See `HttpServer`. */
  countUnserved(prefix: string, count: CountUnserved): void;
  /** Builds the routes. @returns what takes the requests of the server */
  ready(): Promise<RequestListener>;
}

/** The path of requests that met no endpoint, in counts and logs. */
const NO_ROUTE = '(none)';
const NO_BODY = Buffer.alloc(0);
const NO_PARAMS = {};
const NO_QUERY: Query = new Map();
const NO_HEADERS: readonly string[] = [];

/** Makes a router without endpoints. */
export function createRouter(options: RouterOptions): Router {
  const { node, edge, requestId, errorForms } = options;
  const endpoints: Endpoint[] = [];
  const none = { method: '*', path: NO_ROUTE, traffic: createTraffic() };
  const traffic: EndpointTraffic[] = [none];
  const unserved = new Map<string, CountUnserved>();

  const app = fastify({
    serverFactory: () => node,
    genReqId: (request: IncomingMessage) => requestId(request.headers['x-request-id']),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, requestId(undefined)),
    frameworkErrors(_error, request, reply) {
      const problem = new ServiceError('bad-request', 'Invalid path: malformed percent-encoding');
      sendError(bareCall(edge, routeTo(none, request.url), request, reply), problem);
    },
    // Names have rules of their own, with better words than the router's.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX, querystringParser: () => NO_PARAMS },
    // Without these, what would compile schemas is loaded, a twentieth of an idle server's memory.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
  });
  // Fastify's parsers go by the declared type: endpoints get the bytes.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setNotFoundHandler(refuse);
  app.setErrorHandler((error, request, reply) => {
    sendError(bareCall(edge, routeTo(none, request.url), request, reply), error);
  });

  const routeTo = ({ path, traffic: counts }: EndpointTraffic, url: string): Route => ({
    path,
    errorForm: Object.entries(errorForms).find(([prefix]) => url.startsWith(prefix))?.[1] ?? errorAnswer,
    traffic: counts,
  });

  function refuse(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split('?', 1)[0] ?? '';
    const call = admit(routeTo(none, path), request, reply);
    if (call === undefined) return;
    const [, count] = [...unserved].find(([prefix]) => path.startsWith(prefix)) ?? [];
    answerWithoutEndpoint(call, path, { allow: allowedMethods(endpoints, path), count });
  }

  /** Makes the call of a request that may come in; answers it and gives none otherwise. */
  function admit(route: Route, request: FastifyRequest, reply: FastifyReply): Call | undefined {
    const bare = bareCall(edge, route, request, reply);
    try {
      const { url, raw } = request;
      const crossOrigin = crossOriginHeaders(raw, options.origins);
      if (raw.headers.host === undefined && raw.httpVersion === '1.1') {
        throw new ServiceError('bad-request', 'The request has no Host header');
      }
      if (url.includes('%00')) throw new ServiceError('bad-request', 'Invalid path: it contains a NUL character');
      const query = parseQuery(url);
      return query.size === 0 && crossOrigin.length === 0 ? bare : { ...bare, query, crossOrigin };
    } catch (error) {
      sendError(bare, error);
      return undefined;
    }
  }

  return {
    endpoints,
    traffic,
    add(endpoint) {
      const { method, path } = endpoint;
      const counts = { method, path, traffic: createTraffic() };
      const route = routeTo(counts, path);
      const limit = options.bodyLimit(endpoint);
      const hasParameters = path.includes('/:');
      endpoints.push(endpoint);
      traffic.push(counts);
      app.route({
        method,
        url: path,
        handler(request, reply) {
          if (hasParameters && hasEmptyParameter(request.params)) {
            refuse(request, reply);
            return;
          }
          const call = admit(route, request, reply);
          if (call === undefined) return;
          if (method === 'GET') runEndpoint(endpoint, call);
          else runWithBody(endpoint, call, limit);
        },
      });
    },
    countUnserved(prefix, count) {
      unserved.set(prefix, count);
    },
    async ready() {
      await app.ready();
      return app.routing;
    },
  };
}

/** The call before anything in it was looked at. */
function bareCall(edge: Edge, route: Route, request: FastifyRequest, reply: FastifyReply): Call {
  const response = reply.raw as ServerResponse;
  return {
    edge,
    route,
    id: request.id,
    request: request.raw,
    response,
    params: request.params === null ? NO_PARAMS : (request.params as Record<string, string>),
    query: NO_QUERY,
    body: NO_BODY,
    crossOrigin: NO_HEADERS,
    startedMs: edge.clock.monotonic(),
    span: startRequestSpan(request.raw, response, {
      route: route.path === NO_ROUTE ? undefined : route.path,
      id: request.id,
    }),
  };
}

function runWithBody(endpoint: Endpoint, call: Call, limit: BodyLimit): void {
  const body = readBody(call.request, limit);
  if (body === undefined) {
    runEndpoint(endpoint, call);
    return;
  }
  body
    .then((bytes) => runEndpoint(endpoint, { ...call, body: bytes }))
    .catch((error: unknown) => sendError(call, error));
}

/** Routes are added without schemas. */
function refuseSchema(): never {
  throw new TypeError('a route with a schema for Fastify');
}

/** Fastify takes `/v1/thing/` for a thing without a name. */
const hasEmptyParameter = (params: unknown): boolean => Object.values(params as Record<string, string>).includes('');
