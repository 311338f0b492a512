/** Requests to a server: what could not be sent or was not answered is `unreachable`, a status from 300 on `refused`. */
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { CommandError } from '../errors.ts';
import { ANSWER_BYTES_MAX, ANSWER_MS_MAX, REFUSAL_LENGTH_MAX } from '../limits.ts';
import { printable } from '../output/output.ts';
import type { Shell } from '../shell.ts';
import { type Connection, type ConnectionOptions, resolveConnection } from './connection.ts';

/** One request. `path` begins with a slash and its segments are encoded. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Parameters without a value are left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server may be silent. */
  readonly silenceMs?: number;
}

/** An answer whose body was read. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Client {
  readonly address: string;
  /** Whether the server is told who asks. */
  readonly hasToken: boolean;
  /** Any status. @throws CommandError `unreachable` */
  ask(call: Call): Promise<Answer>;
  /** A status below 300. @throws CommandError `unreachable`, `refused` with the server's own words */
  send(call: Call): Promise<Answer>;
  /** As `send`, with the body still to be read. */
  stream(call: Call): Promise<IncomingMessage>;
  /** As `send`, with the JSON of the answer, whose shape the API promises. */
  read<T>(call: Call): Promise<T>;
}

/** A client for the server that the options and the environment name. @throws CommandError `usage` */
export function connect(shell: Shell, options: ConnectionOptions): Client {
  return createClient(resolveConnection(shell, options), shell.interrupted());
}

/** A client whose requests end when `signal` aborts. */
export function createClient(connection: Connection, signal: AbortSignal): Client {
  const open = (call: Call): Promise<IncomingMessage> => openCall(connection, call, signal);
  const ask = async (call: Call): Promise<Answer> => {
    const response = await open(call);
    return { status: response.statusCode ?? 0, headers: response.headers, text: await readBody(connection, response) };
  };
  const send = async (call: Call): Promise<Answer> => {
    const answer = await ask(call);
    if (answer.status >= 300) throw refusal(connection, answer);
    return answer;
  };
  return {
    address: connection.address,
    hasToken: connection.token !== undefined,
    ask,
    send,
    async stream(call) {
      const response = await open(call);
      const status = response.statusCode ?? 0;
      if (status < 300) return response;
      throw refusal(connection, { status, headers: response.headers, text: await readBody(connection, response) });
    },
    async read<T>(call: Call) {
      const { text } = await send(call);
      return parseJson(connection, text) as T;
    },
  };
}

/** The JSON of an answer. @throws CommandError `refused` when it is none: then something else answers at the address */
export function parseJson({ address }: Pick<Connection, 'address'>, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandError('refused', `the answer of ${address} is not JSON: is that an Accord server?`, { cause });
  }
}

function openCall(connection: Connection, call: Call, signal: AbortSignal): Promise<IncomingMessage> {
  const url = new URL(connection.address + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const silenceMs = call.silenceMs ?? ANSWER_MS_MAX;
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  const options: RequestOptions & { ca?: string } = {
    method: call.method,
    signal,
    timeout: silenceMs,
    headers: {
      accept: 'application/json, text/plain',
      ...(connection.token === undefined ? {} : { 'x-service-token': connection.token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...call.headers,
    },
    ...(connection.ca === undefined ? {} : { ca: connection.ca }),
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options);
    request.once('response', resolve);
    request.once('timeout', () => request.destroy(new Error(`no answer within ${silenceMs / 1000} s`)));
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
      if (size > ANSWER_BYTES_MAX) throw new Error(`the answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    }
  } catch (error) {
    throw unreachable(connection, error as Error);
  }
  return Buffer.concat(chunks).toString();
}

/** The error for a connection that failed or broke: the address, the cause, and what to do where that is known. */
export function unreachable({ address }: Pick<Connection, 'address'>, cause: Error): CommandError {
  return new CommandError('unreachable', `cannot reach ${address}: ${causeOf(cause)}`, { cause });
}

function causeOf(error: Error): string {
  // A name with several addresses fails with one error for each and no message of its own.
  const first: NodeJS.ErrnoException = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = first.code ?? '';
  if (/CERT|ISSUER|SIGNATURE/.test(code)) {
    return `${first.message} (${code}); if a private authority vouches for it, name its certificate with --ca-file`;
  }
  if (code === 'ECONNREFUSED') {
    return `${first.message}; start a server there with accord server, or name another with --address`;
  }
  if (code === 'EPROTO') return `it does not speak TLS; is its address http:// instead of https://? (${code})`;
  if (code === 'ECONNRESET' || code === 'HPE_INVALID_CONSTANT') {
    return `${first.message}; does it speak HTTPS? Then its address begins with https://`;
  }
  return first.message;
}

function refusal(connection: Connection, answer: Answer): CommandError {
  const { status } = answer;
  const words = refusalWords(answer);
  const hint = status === 401 || status === 403 ? tokenHint(connection, words) : '';
  return new CommandError('refused', words + hint, { status });
}

/** What an answer from 300 on says, fit for a terminal. */
export function refusalWords({ status, text, headers }: Answer): string {
  const lines = text.trim().slice(0, REFUSAL_LENGTH_MAX).split('\n');
  const words = text.trim() === '' ? `status ${status} without a word` : lines.map(printable).join('\n');
  return headers.location === undefined ? words : `${words} (it points to ${printable(headers.location)})`;
}

/** What to look at when a token, or its absence, is the reason. */
function tokenHint({ token, tokenFrom }: Connection, words: string): string {
  if (token === undefined) {
    return ' (no token was sent: set ACCORD_TOKEN, or run where the first credentials are, see --data-dir)';
  }
  return words === 'ACL not found' ? ` (the token from ${tokenFrom} is unknown to the server, or has expired)` : '';
}
