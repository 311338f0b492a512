/** HTTP client of the commands. A failed connection is `unreachable`; a status of 300 or above is `failed`. */
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { systemCertificates } from '../../tls/system-certificates.ts';
import { CommandError } from '../errors.ts';
import { ERROR_TEXT_LENGTH_MAX, RESPONSE_BYTES_MAX, RESPONSE_TIMEOUT_MS } from '../limits.ts';
import { printable } from '../output/output.ts';
import type { Shell } from '../shell.ts';
import { type Connection, type ConnectionOptions, resolveConnection } from './connection.ts';

/** A request. `path` starts with a slash, and its segments are encoded. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Parameters that are `undefined` are omitted. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Time without data after which the server counts as unreachable. */
  readonly idleTimeoutMs?: number;
}

/** A response with its complete body. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Client {
  readonly address: string;
  readonly hasToken: boolean;
  /** Sends a request and returns a response with any status. @throws CommandError `unreachable` */
  request(call: ClientRequest): Promise<ClientResponse>;
  /** Sends a request. @throws CommandError `unreachable`; `failed` with the server's message for a status from 300 */
  send(call: ClientRequest): Promise<ClientResponse>;
  /** Like `send`, but does not read the body. */
  stream(call: ClientRequest): Promise<IncomingMessage>;
  /** Like `send`, and parses the JSON body. The shape is not checked. */
  read<T>(call: ClientRequest): Promise<T>;
}

/** Creates a client for the server named by the options and the environment. @throws CommandError `usage` */
export function connect(shell: Shell, options: ConnectionOptions): Client {
  return createClient(resolveConnection(shell, options), shell.interruptSignal());
}

/** Creates a client whose requests are canceled when `signal` aborts. */
export function createClient(connection: Connection, signal: AbortSignal): Client {
  const open = (call: ClientRequest): Promise<IncomingMessage> => openRequest(connection, call, signal);
  const request = async (call: ClientRequest): Promise<ClientResponse> => {
    const response = await open(call);
    return { status: response.statusCode ?? 0, headers: response.headers, text: await readBody(connection, response) };
  };
  const send = async (call: ClientRequest): Promise<ClientResponse> => {
    const response = await request(call);
    if (response.status >= 300) throw responseError(connection, response);
    return response;
  };
  return {
    address: connection.address,
    hasToken: connection.token !== undefined,
    request,
    send,
    async stream(call) {
      const response = await open(call);
      const status = response.statusCode ?? 0;
      if (status < 300) return response;
      throw responseError(connection, {
        status,
        headers: response.headers,
        text: await readBody(connection, response),
      });
    },
    async read<T>(call: ClientRequest) {
      const { text } = await send(call);
      return parseJson(connection, text) as T;
    },
  };
}

/** Parses the JSON of a response. @throws CommandError `failed` for invalid JSON, which no Accord server sends */
export function parseJson({ address }: Pick<Connection, 'address'>, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandError('failed', `the response from ${address} is not JSON; is this an Accord server?`, { cause });
  }
}

function openRequest(connection: Connection, call: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const url = new URL(connection.address + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const idleTimeoutMs = call.idleTimeoutMs ?? RESPONSE_TIMEOUT_MS;
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  const isSecure = url.protocol === 'https:';
  const options: RequestOptions & { ca?: string | string[] } = {
    method: call.method,
    signal,
    timeout: idleTimeoutMs,
    headers: {
      accept: 'application/json, text/plain',
      ...(connection.token === undefined ? {} : { 'x-service-token': connection.token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...call.headers,
    },
    ...(isSecure ? { ca: connection.ca ?? systemCertificates() } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = isSecure ? requestHttps(url, options) : requestHttp(url, options);
    request.once('response', resolve);
    request.once('timeout', () => request.destroy(new Error(`no response within ${idleTimeoutMs / 1000} s`)));
    request.once('error', (error) => reject(unreachable(connection, error)));
    request.end(body);
  });
}

async function readBody(connection: Connection, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > RESPONSE_BYTES_MAX) throw new Error(`the response is longer than ${RESPONSE_BYTES_MAX} bytes`);
    }
  } catch (error) {
    throw unreachable(connection, error as Error);
  }
  return Buffer.concat(chunks).toString();
}

/** Creates the error for a connection that failed or broke, with the address, the cause, and a known remedy. */
export function unreachable({ address }: Pick<Connection, 'address'>, cause: Error): CommandError {
  return new CommandError('unreachable', `cannot reach ${address}: ${describeCause(cause)}`, { cause });
}

function describeCause(error: Error): string {
  // For a name with several addresses, the AggregateError has no message, only one error per address.
  const first: NodeJS.ErrnoException = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = first.code ?? '';
  if (/CERT|ISSUER|SIGNATURE/.test(code)) {
    return `${first.message} (${code}); for a private CA, name the CA's certificate with --ca-file`;
  }
  if (code === 'ECONNREFUSED') {
    return `${first.message}; start a server with accord server, or name another one with --address`;
  }
  if (code === 'EPROTO') return `the server does not use TLS; try http:// instead of https:// (${code})`;
  if (code === 'ECONNRESET' || code === 'HPE_INVALID_CONSTANT') {
    return `${first.message}; if the server uses HTTPS, the address must start with https://`;
  }
  return first.message;
}

function responseError(connection: Connection, response: ClientResponse): CommandError {
  const { status } = response;
  const text = errorText(response);
  const hint = status === 401 || status === 403 ? tokenHint(connection, text) : '';
  return new CommandError('failed', text + hint, { status });
}

/** Returns the message of an error response or redirect, escaped and shortened for a terminal. */
export function errorText({ status, text, headers }: ClientResponse): string {
  const lines = text.trim().slice(0, ERROR_TEXT_LENGTH_MAX).split('\n');
  const message = text.trim() === '' ? `status ${status} with an empty body` : lines.map(printable).join('\n');
  return headers.location === undefined ? message : `${message} (redirects to ${printable(headers.location)})`;
}

/** Returns a hint if the token, or its absence, causes the error. */
function tokenHint({ token, tokenSource }: Connection, message: string): string {
  if (token === undefined) {
    return ' (no token was sent: set ACCORD_TOKEN, or name the directory of credentials.json with --data-dir)';
  }
  return message === 'ACL not found' ? ` (the token from ${tokenSource} is unknown to the server or has expired)` : '';
}
