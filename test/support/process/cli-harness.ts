/** The CLI test harness: runs whole commands in the test process, against a stub of the HTTP API on loopback. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { runCommand } from '../../../src/cli/program.ts';
import type { LocalCommands, Shell } from '../../../src/cli/shell.ts';

/** A request received by the stub server. */
export interface StubRequest {
  readonly method: string;
  /** Includes the query string. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON body. */
  readonly body: unknown;
}

/** A response of the stub server. An object is sent as JSON. */
export interface StubResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A stub server with the requests that it has received. */
export interface StubServer {
  readonly address: string;
  readonly requests: StubRequest[];
}

/** Starts a stub server that is closed at the end of the test. @param tls key and certificate for HTTPS */
export async function startStubServer(
  t: TestContext,
  handle: (request: StubRequest) => StubResponse | Promise<StubResponse>,
  tls?: { readonly key: string; readonly cert: string },
): Promise<StubServer> {
  const requests: StubRequest[] = [];
  const listener: RequestListener = async (request, response) => {
    const chunks = await Array.fromAsync<Buffer>(request);
    const text = Buffer.concat(chunks).toString();
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body: text === '' ? undefined : JSON.parse(text) };
    requests.push(received);
    const stub = await handle(received);
    response.writeHead(stub.status ?? 200, stub.headers);
    response.end(isRaw(stub.body) ? stub.body : JSON.stringify(stub.body));
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

/** The result of a command. */
export interface CliResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly local?: Partial<LocalCommands>;
  readonly interruption?: AbortController;
  /** Called with the complete standard output after every write. */
  readonly onOutput?: (stdout: string) => void;
  readonly pause?: Shell['pause'];
  /** The standard input. */
  readonly stdin?: string | Readable;
}

/** Runs one command in this process, like the program `accord`. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
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
    // Prevents commands from finding the credentials of a server in the working directory.
    environment: { ACCORD_DATA_DIR: '/no/such/folder', ...options.environment },
    version: '1.13.0',
    interruptSignal: () => interruption.signal,
    pause: options.pause ?? (() => Promise.resolve()),
    local: {
      settingFlags: [],
      serve: () => Promise.resolve(0),
      exportOffline: () => Promise.reject(new Error('this test has no database')),
      effectiveSettings: () => Promise.resolve({ settings: [], warnings: [] }),
      ...options.local,
    },
  };
  const exitCode = await runCommand(args, shell);
  return { exitCode, stdout, stderr };
}

function collector(onText: (text: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      onText(chunk.toString());
      done();
    },
  });
}
