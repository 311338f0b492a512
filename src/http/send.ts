/** Writes responses to connections, and counts and logs them. */
import { type Answer, type Call, loggedQuery } from './call.ts';
import { ServiceError, toServiceError } from './errors.ts';
import { PIECE_BYTES, WRITE_STALL_BYTES_MIN } from './limits.ts';
import { recordError } from './telemetry/tracing.ts';
import { countAnswer } from './telemetry/traffic.ts';

/** Counts the response, and writes it unless the client has disconnected. */
export function sendAnswer(call: Call, answer: Answer): void {
  const { response } = call;
  const { body } = answer;
  const bytes = answer.bytes ?? (typeof body === 'string' ? Buffer.byteLength(body) : body.length);
  // The answer to a write reports a commit, and a client that gets an error instead would repeat the write.
  if (call.request.method === 'GET' && !call.context.unsentBodies.hasRoomFor(body, bytes)) {
    const text = 'too many large responses are being sent: try again later, or ask for less';
    sendError(call, new ServiceError('overloaded', text, { retryAfterSeconds: 1 }), answer.waited);
    return;
  }
  recordAnswer(call, answer, bytes);
  if (response.headersSent || response.destroyed) return;
  const headers = ['X-Request-Id', call.id];
  // For 304 the header would have to be the length of the body that the client already has.
  if (answer.status !== 304) headers.push('Content-Length', String(bytes));
  if (answer.contentType !== undefined) headers.push('Content-Type', answer.contentType);
  if (answer.headers !== undefined) headers.push(...answer.headers);
  if (call.context.consul) addConsulHeaders(headers);
  if (call.admitted !== undefined && call.admitted.headers.length > 0) headers.push(...call.admitted.headers);
  if (call.corsHeaders.length > 0) headers.push(...call.corsHeaders);
  if (call.context.stopping) headers.push('Connection', 'close');
  if (bytes >= WRITE_STALL_BYTES_MIN) response.setTimeout(call.context.writeStallMs);
  response.writeHead(answer.status, headers);
  if (bytes === 0 || call.request.method === 'HEAD') response.end();
  else if (bytes <= PIECE_BYTES) response.end(body);
  else call.context.unsentBodies.send(response, body);
}

const SERVICE_PREFIX = 'X-Service-';

function addConsulHeaders(headers: string[]): void {
  const { length } = headers;
  for (let i = 0; i < length; i += 2) {
    const name = headers[i] ?? '';
    if (name.startsWith(SERVICE_PREFIX)) {
      headers.push(`X-Consul-${name.slice(SERVICE_PREFIX.length)}`, headers[i + 1] ?? '');
    }
  }
}

/** Sends an error in the format of the service, and logs the cause of an `internal` one. `waited`: see `Answer`. */
export function sendError(call: Call, thrown: unknown, waited = false): void {
  const error = toServiceError(thrown);
  if (error.code === 'internal') {
    call.context.log.error({ id: call.id, route: call.route.path, error: error.cause ?? error }, 'request failed');
  }
  const answer = call.route.renderError(call, error);
  if (call.span !== undefined && answer.status >= 500) recordError(call.span, error.cause ?? error);
  sendAnswer(call, waited ? { ...answer, waited } : answer);
}

function recordAnswer(call: Call, answer: Answer, bytes: number): void {
  const { context, request, route } = call;
  const durationMs = context.clock.monotonic() - call.startedMs;
  countAnswer(route.traffic, answer.status, answer.waited ? undefined : durationMs);
  if (!context.log.isLevelEnabled('debug')) return;
  const fields = {
    id: call.id,
    method: request.method,
    route: route.path,
    query: loggedQuery(call.query),
    status: answer.status,
    bytes,
    durationMs: Math.round(durationMs * 1000) / 1000,
    from: request.socket.remoteAddress,
  };
  context.log.debug(fields, 'request answered');
}
