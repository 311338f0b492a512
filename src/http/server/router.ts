/**
 * Serves requests: finds the endpoint with find-my-way, checks the headers (path encoding, origin, `Host`, query
 * string, length of the body), lets the service admit the request, reads the body, and runs the endpoint. Answers
 * requests that no endpoint serves with 404, 405, or `Allow`.
 *
 * Paths are case-sensitive and their slashes count. `HEAD` is served wherever `GET` is.
 */
import { type IncomingMessage, METHODS, type RequestListener, type ServerResponse } from 'node:http';
import findMyWay from 'find-my-way';
import {
  type Admission,
  type Call,
  type ErrorRenderer,
  type HttpContext,
  parseQuery,
  type Query,
  type Route,
} from '../call.ts';
import { allowedMethods, type Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { HEADER_BYTES_MAX, QUOTED_LENGTH_MAX } from '../limits.ts';
import { sendAnswer, sendError } from '../send.ts';
import { startRequestSpan, withSpan } from '../telemetry/tracing.ts';
import { createTraffic, type EndpointTraffic } from '../telemetry/traffic.ts';
import { errorAnswer } from '../v1/error-answer.ts';
import { crossOriginHeaders, type OriginRules, preflightHeaders } from './origin.ts';
import { type BodyLimit, type BodyReader, checkDeclaredLength, hasBody } from './read-body.ts';

export interface RouterOptions {
  readonly context: HttpContext;
  /** Returns the ID of a request, given its `X-Request-Id`. */
  readonly requestId: (given: string | string[] | undefined) => string;
  readonly origins: OriginRules;
  readonly bodies: BodyReader;
  readonly bodyLimit: (endpoint: Endpoint) => BodyLimit;
  readonly errorRenderers: Readonly<Record<string, ErrorRenderer>>;
}

export interface Router {
  readonly endpoints: readonly Endpoint[];
  readonly traffic: readonly EndpointTraffic[];
  /** Adds an endpoint. Must be called before `listener`. */
  add(endpoint: Endpoint): void;
  /** See `HttpServer`. */
  admitWith(prefix: string, admission: Admission): void;
  listener(): RequestListener;
}

type PathParameters = Readonly<Record<string, string>>;

/** The path of requests that no endpoint serves, in metrics and logs. [SRV-70] */
const NO_ROUTE = '(none)';
const NO_BODY = Buffer.alloc(0);
const NO_PARAMETERS: PathParameters = {};
const NO_QUERY: Query = new Map();
const NO_HEADERS: readonly string[] = [];

export function createRouter(options: RouterOptions): Router {
  const { context, requestId, errorRenderers } = options;
  const endpoints: Endpoint[] = [];
  const unmatched = { method: '*', path: NO_ROUTE, traffic: createTraffic() };
  const traffic: EndpointTraffic[] = [unmatched];
  const admissions = new Map<string, Admission>();

  const routes = findMyWay({
    // No limit, because endpoints check the length of names and have better error messages.
    maxParamLength: HEADER_BYTES_MAX,
    // `admit` parses the query.
    querystringParser: () => NO_PARAMETERS,
    defaultRoute: serveUnmatched,
    onBadUrl(_path, request, response) {
      const error = new ServiceError('bad-request', 'Invalid path: malformed percent-encoding');
      sendError(bareCall(unmatchedRoute(request), request, response), error);
    },
  });

  const routeTo = (
    { path, traffic: counts }: EndpointTraffic,
    url: string,
    { query = [], bodyType }: Pick<Endpoint, 'query' | 'bodyType'> = {},
  ): Route => ({
    path,
    query: query.map(({ name }) => name),
    bodyType,
    renderError: Object.entries(errorRenderers).find(([prefix]) => url.startsWith(prefix))?.[1] ?? errorAnswer,
    admission: [...admissions].find(([prefix]) => url.startsWith(prefix))?.[1],
    traffic: counts,
  });

  const unmatchedRoute = ({ url = '' }: IncomingMessage): Route => routeTo(unmatched, url);

  function serveUnmatched(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url?.split('?', 1)[0] ?? '';
    const call = check(unmatchedRoute(request), request, response);
    if (call !== undefined) answerUnmatched(call, path, allowedMethods(endpoints, path));
  }

  /** Checks the headers. Returns the call, or sends an error and returns `undefined`. */
  function check(
    route: Route,
    request: IncomingMessage,
    response: ServerResponse,
    parameters?: PathParameters,
  ): Call | undefined {
    const bare = bareCall(route, request, response, parameters);
    try {
      const { url = '', headers, httpVersion } = request;
      const corsHeaders = crossOriginHeaders(request, options.origins);
      if (headers.host === undefined && httpVersion === '1.1') {
        throw new ServiceError('bad-request', 'The request has no Host header');
      }
      rejectRepeatedHeaders(request);
      if (url.includes('%00')) throw new ServiceError('bad-request', 'Invalid path: it contains a NUL character');
      const query = parseQuery(url);
      return query.size === 0 && corsHeaders.length === 0 ? bare : { ...bare, query, corsHeaders };
    } catch (error) {
      sendError(bare, error);
      return undefined;
    }
  }

  /** Returns the call of a request that is not checked yet, so that even a rejection has a span and is counted. */
  function bareCall(
    route: Route,
    request: IncomingMessage,
    response: ServerResponse,
    parameters: PathParameters = NO_PARAMETERS,
  ): Call {
    const id = requestId(request.headers['x-request-id']);
    const tracedRoute = route.path === NO_ROUTE ? undefined : route.path;
    return {
      context,
      route,
      id,
      request,
      response,
      params: parameters,
      query: NO_QUERY,
      body: NO_BODY,
      admitted: undefined,
      corsHeaders: NO_HEADERS,
      startedMs: context.clock.monotonic(),
      span: startRequestSpan(request, response, { route: tracedRoute, id }),
    };
  }

  return {
    endpoints,
    traffic,
    add(endpoint) {
      const { method, path } = endpoint;
      const counts = { method, path, traffic: createTraffic() };
      const route = routeTo(counts, path, endpoint);
      const limit = options.bodyLimit(endpoint);
      const hasParameters = path.includes('/:');
      endpoints.push(endpoint);
      traffic.push(counts);
      routes.on(method === 'GET' ? ['GET', 'HEAD'] : method, path, (request, response, given) => {
        const parameters = given as PathParameters;
        // find-my-way matches `/v1/thing/` with an empty parameter.
        if (hasParameters && Object.values(parameters).includes('')) {
          serveUnmatched(request, response);
          return;
        }
        const call = check(route, request, response, parameters);
        if (call !== undefined) admitAndRun(endpoint, call, limit, options.bodies);
      });
    },
    admitWith(prefix, admission) {
      admissions.set(prefix, admission);
    },
    listener() {
      // find-my-way detects malformed paths only for methods that have a route.
      const routed = new Set<string>(endpoints.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method)));
      const others = METHODS.filter((method) => !routed.has(method)) as findMyWay.HTTPMethod[];
      routes.on(others, '/*', serveUnmatched);
      return (request, response) => {
        try {
          routes.lookup(request, response);
        } catch (error) {
          sendError(bareCall(unmatchedRoute(request), request, response), error);
        }
      };
    },
  };
}

/** Headers that Node keeps only the first value of, and that another program may read differently. [SRV-118] */
const SINGLE_HEADERS: ReadonlyMap<number, string> = new Map(
  ['host', 'content-type', 'authorization'].map((name) => [name.length, name]),
);

/** @throws ServiceError `bad-request` if one of SINGLE_HEADERS is repeated */
function rejectRepeatedHeaders({ rawHeaders }: IncomingMessage): void {
  let seen = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (SINGLE_HEADERS.get(name.length) !== name.toLowerCase()) continue;
    // The lengths are different and below 32.
    const bit = 1 << name.length;
    if ((seen & bit) !== 0) throw new ServiceError('bad-request', `The request has more than one ${name} header`);
    seen |= bit;
  }
}

/**
 * Lets the service admit the request, reads the body unless the method is `GET` or `HEAD`, and runs the endpoint. Sends
 * an error if any of these fails.
 */
function admitAndRun(endpoint: Endpoint, checked: Call, limit: BodyLimit, bodies: BodyReader): void {
  try {
    const readsBody = endpoint.method !== 'GET' && hasBody(checked.request);
    if (readsBody) checkDeclaredLength(checked.request, limit);
    const call = admit(checked);
    if (readsBody) readAndRun(endpoint, call, limit, bodies);
    else void runWithSpan(endpoint, call);
  } catch (error) {
    sendError(checked, error);
  }
}

/** Returns the call with what the service found out. @throws ServiceError `rate-limited` */
function admit(call: Call): Call {
  const { admission } = call.route;
  return admission === undefined ? call : { ...call, admitted: admission.admit(call) };
}

function readAndRun(endpoint: Endpoint, call: Call, limit: BodyLimit, bodies: BodyReader): void {
  bodies
    .read(call, limit)
    .then(async ({ bytes, release }) => {
      try {
        await runWithSpan(endpoint, { ...call, body: bytes });
      } finally {
        release();
      }
    })
    .catch((error: unknown) => sendError(call, error));
}

const runWithSpan = (endpoint: Endpoint, call: Call): Promise<void> | undefined =>
  call.span === undefined ? run(endpoint, call) : withSpan(call.span, () => run(endpoint, call));

/** Runs the endpoint and sends its answer. @returns a promise, which never rejects, unless it was sent at once */
function run(endpoint: Endpoint, call: Call): Promise<void> | undefined {
  try {
    const answer = endpoint.handle(call);
    if (answer instanceof Promise) {
      return answer.then((later) => sendAnswer(call, later)).catch((error: unknown) => sendError(call, error));
    }
    if (answer !== undefined) sendAnswer(call, answer);
  } catch (error) {
    sendError(call, error);
  }
  return undefined;
}

/**
 * Sends 200 for `OPTIONS` if an endpoint has the path, 405 for other methods, and 404 if no endpoint has the path.
 * @param allow the methods of the endpoints at the path; `undefined` if no endpoint has the path
 */
function answerUnmatched(call: Call, path: string, allow: string | undefined): void {
  if (allow !== undefined && call.request.method === 'OPTIONS') {
    const cors = call.corsHeaders.length > 0 ? preflightHeaders(allow) : [];
    sendAnswer(call, { status: 200, body: '', headers: ['Allow', allow, ...cors] });
    return;
  }
  try {
    const admitted = admit(call);
    try {
      call.route.admission?.rejectUnmatched?.(call, allow !== undefined);
      sendError(admitted, unmatchedError(call, path, allow));
    } catch (error) {
      sendError(admitted, error);
    }
  } catch (error) {
    sendError(call, error);
  }
}

function unmatchedError({ request: { method } }: Call, path: string, allow: string | undefined): ServiceError {
  if (allow !== undefined) {
    return new ServiceError('method-not-allowed', `method ${method} not allowed`, { headers: ['Allow', allow] });
  }
  return new ServiceError('not-found', `Nothing is served at ${JSON.stringify(path.slice(0, QUOTED_LENGTH_MAX))}`);
}
