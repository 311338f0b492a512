/** A listening HTTP server with given endpoints, for tests, and functions that send requests to it. */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import type { FakeClock } from '../../../test/support/fake-clock.ts';
import { type Clock, systemClock } from '../../state/clock/clock.ts';
import type { Endpoint } from '../endpoint.ts';
import { createLog } from '../telemetry/log.ts';
import { createHttpServer, type HttpLimits, type HttpServer, type HttpServerOptions } from './server.ts';

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
}

export interface TestServer extends AsyncDisposable {
  readonly http: HttpServer;
  readonly port: number;
  /** The parsed log lines. */
  readonly logged: Record<string, unknown>[];
  request(path: string, options?: RequestOptions): Promise<ReceivedResponse>;
  /** Sends bytes unchanged. Returns everything received until the server closes the connection. */
  raw(text: string | Buffer): Promise<string>;
  connect(): Promise<net.Socket>;
}

export const limits: HttpLimits = {
  connections: 1_000,
  connectionsPerAddress: 1_000,
  bodies: 1_000_000,
  body: 1_024,
  bulkBody: 4_096,
};

/** Starts a server on loopback that serves the endpoints and keeps its log. */
export async function startTestServer(
  endpoints: readonly Endpoint[],
  options: Partial<HttpServerOptions> = {},
): Promise<TestServer> {
  const logged: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) };
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    allowedOrigins: [],
    limits,
    requestIdPrefix: 'test',
    clock: systemClock,
    log: createLog({ level: 'debug', format: 'json', destination }),
    ...options,
  });
  for (const endpoint of endpoints) server.add(endpoint);
  const { port } = await server.listen();
  await server.open();
  const agent = new http.Agent({ keepAlive: true });
  return {
    http: server,
    port,
    logged,
    request: (path, requestOptions = {}) => request({ port, path, agent }, requestOptions),
    async raw(text) {
      const socket = await connect(port);
      socket.write(text);
      return await readAll(socket);
    },
    connect: () => connect(port),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      const stopped = server.stop(0);
      if (isFake(options.clock)) await options.clock.run(0);
      await stopped;
    },
  };
}

const isFake = (clock: Clock | undefined): clock is FakeClock => clock !== undefined && 'run' in clock;

/** Sends one request. `target.path` is sent unchanged. */
export function request(
  target: http.RequestOptions,
  { method = 'GET', headers = {}, body, signal }: RequestOptions = {},
): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      { host: '127.0.0.1', ...target, method, headers, ...(signal === undefined ? {} : { signal }) },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes, text: bytes.toString() });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Opens a connection without sending anything. */
export async function connect(port: number): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Returns everything received until the server closes the connection. A reset counts as closing. */
export function readAll(socket: net.Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}
