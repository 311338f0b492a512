/** For tests: a real HTTP server on loopback that answers as the API would, and whole commands run against it. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { runCommand } from '../../../src/cli/program.ts';
import type { LocalCommands, Shell } from '../../../src/cli/shell.ts';

/** A request as the server saw it. */
export interface Received {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The JSON of the body. */
  readonly body: unknown;
}

/** What is answered; an object is sent as JSON. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Rig {
  readonly address: string;
  readonly requests: Received[];
}

/** Starts a server that lives as long as the test. @param tls key and certificate, for HTTPS */
export async function startServer(
  t: TestContext,
  answer: (request: Received) => Reply | Promise<Reply>,
  tls?: { readonly key: string; readonly cert: string },
): Promise<Rig> {
  const requests: Received[] = [];
  const listener: RequestListener = async (request, response) => {
    const chunks = await Array.fromAsync<Buffer>(request);
    const text = Buffer.concat(chunks).toString();
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body: text === '' ? undefined : JSON.parse(text) };
    requests.push(received);
    const reply = await answer(received);
    response.writeHead(reply.status ?? 200, reply.headers);
    response.end(isRaw(reply.body) ? reply.body : JSON.stringify(reply.body));
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { address: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, requests };
}

const isRaw = (body: unknown): body is string | Buffer | undefined =>
  body === undefined || typeof body === 'string' || Buffer.isBuffer(body);

/** How a command ended. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly local?: Partial<LocalCommands>;
  readonly interruption?: AbortController;
  /** Sees what has been written to standard output so far. */
  readonly onOutput?: (stdout: string) => void;
  readonly pause?: Shell['pause'];
  /** What is piped in. */
  readonly stdin?: string | Readable;
}

/** Runs one command as `accord` would. */
export async function accord(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { stdin = '' } = options;
  let stdout = '';
  let stderr = '';
  const interruption = options.interruption ?? new AbortController();
  const shell: Shell = {
    stdin: stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]),
    stdout: collector((text) => {
      stdout += text;
      options.onOutput?.(stdout);
    }),
    stderr: collector((text) => {
      stderr += text;
    }),
    // No command of a test finds the credentials of a server that happens to be where the tests run.
    environment: { ACCORD_DATA_DIR: '/no/such/folder', ...options.environment },
    version: '1.13.0',
    interrupted: () => interruption.signal,
    pause: options.pause ?? (() => Promise.resolve()),
    local: {
      settingFlags: [],
      serve: () => Promise.resolve(0),
      settingsInForce: () => Promise.resolve({ settings: [], warnings: [] }),
      ...options.local,
    },
  };
  const exitCode = await runCommand(args, shell);
  return { exitCode, stdout, stderr };
}

function collector(take: (text: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      take(chunk.toString());
      done();
    },
  });
}
