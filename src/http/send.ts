/** The only place that writes answers to a connection. */
import type { Answer } from './answer.ts';
import type { Call } from './call.ts';
import { toServiceError } from './errors.ts';
import { UNREAD_BYTES_MIN } from './limits.ts';
import { loggedQuery } from './query.ts';
import { recordError } from './telemetry/tracing.ts';
import { countAnswer } from './telemetry/traffic.ts';

/** Writes the answer, unless the caller has left, and counts it. */
export function sendAnswer(call: Call, answer: Answer): void {
  const { response } = call;
  const { body } = answer;
  const bytes = answer.bytes ?? (typeof body === 'string' ? Buffer.byteLength(body) : body.length);
  note(call, answer, bytes);
  if (response.headersSent || response.destroyed) return;
  const headers = ['X-Request-Id', call.id];
  // Of 304 it would have to be the length of what is not sent.
  if (answer.status !== 304) headers.push('Content-Length', String(bytes));
  if (answer.contentType !== undefined) headers.push('Content-Type', answer.contentType);
  if (answer.headers !== undefined) headers.push(...answer.headers);
  if (call.edge.consul) repeatForConsul(headers);
  if (call.crossOrigin.length > 0) headers.push(...call.crossOrigin);
  if (call.edge.stopping) headers.push('Connection', 'close');
  if (bytes >= UNREAD_BYTES_MIN) response.setTimeout(call.edge.unreadMs);
  response.writeHead(answer.status, headers);
  if (bytes === 0 || call.request.method === 'HEAD') response.end();
  else response.end(body);
}

const SERVICE = 'X-Service-';

function repeatForConsul(headers: string[]): void {
  const { length } = headers;
  for (let i = 0; i < length; i += 2) {
    const name = headers[i] ?? '';
    if (name.startsWith(SERVICE)) headers.push(`X-Consul-${name.slice(SERVICE.length)}`, headers[i + 1] ?? '');
  }
}

/**
 * Answers with what was thrown, in the words of the service; the cause of our own faults goes to the log.
 * `held`: the request was held back on purpose.
 */
export function sendError(call: Call, thrown: unknown, held = false): void {
  const error = toServiceError(thrown);
  if (error.code === 'internal') {
    call.edge.log.error({ id: call.id, route: call.route.path, error: error.cause ?? error }, 'a request failed');
  }
  const answer = call.route.errorForm(call, error);
  if (call.span !== undefined && answer.status >= 500) recordError(call.span, error.cause ?? error);
  sendAnswer(call, held ? { ...answer, held } : answer);
}

function note(call: Call, answer: Answer, bytes: number): void {
  const { edge, request, route } = call;
  const durationMs = edge.clock.monotonic() - call.startedMs;
  countAnswer(route.traffic, answer.status, answer.held ? undefined : durationMs);
  if (!edge.log.isLevelEnabled('debug')) return;
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
  edge.log.debug(fields, 'answered');
}
