/** Starts `accord server` as a process, with the given settings, and sends requests to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';

const ENTRY = path.resolve(import.meta.dirname, '../../../bin/accord.ts');
/** The same folder as in `bin/accord`. */
const COMPILE_CACHE = path.resolve(import.meta.dirname, '../../../node_modules/.cache/accord');
/** Timeout for a start. An idle machine needs a few hundred milliseconds, a machine that runs many tests needs more. */
const READY_MS_MAX = 60_000;
/** Default timeout for a response. It exceeds every time limit of the server except `wait`. */
const ANSWER_MS_MAX = 60_000;
/** Timeout for one readiness probe, because another process that never responds may use the port. */
const PROBE_MS_MAX = 1_000;
const KEEP_ALIVE = { keepAlive: true };
const ANY_CERTIFICATE = { rejectUnauthorized: false };

export interface ServerOptions {
  /** Default: a temporary folder, which disposal deletes. */
  readonly dataDirectory?: string;
  /** Settings by key, such as `{'store': 'etcd'}`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Additional arguments, such as `--recover`. */
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The program. Default: `bin/accord.ts`. */
  readonly entry?: string;
  /** Whether `startServer` resolves when the server listens, before it is ready. */
  readonly resolveWhenListening?: boolean;
  /** A command that runs the server, such as one that drops privileges. */
  readonly commandPrefix?: readonly string[];
  /** A file descriptor for standard error. `log` stays empty if it is set. */
  readonly stderr?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON. @throws SyntaxError */
  json<T = unknown>(): T;
}

export interface RequestOptions {
  readonly body?: unknown;
  /** Default: the first ACL token. `null` sends no token. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Server extends AsyncDisposable {
  readonly address: string;
  readonly dataDirectory: string;
  readonly process: ChildProcess;
  /** The secret ID of the first ACL token. */
  readonly token: string;
  /** Returns the content of standard error so far. */
  log(): string;
  /** Returns the content of standard output so far. */
  output(): string;
  request(method: string, pathAndQuery: string, options?: RequestOptions): Promise<Answer>;
  /** Sends a signal, SIGTERM by default. @returns the exit code, null if the signal killed the process */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** The error of a server that exited before it was ready. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly exitCode: number | null;
  readonly log: string;

  constructor(exitCode: number | null, log: string) {
    super(`the server exited with code ${exitCode}: ${log}`);
    this.exitCode = exitCode;
    this.log = log;
  }
}

/** Starts `accord server` on loopback. @throws StartError if it exits before it is ready */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(path.join(tmpdir(), 'accord-test-')));
  const given = options.settings ?? {};
  const httpAddress = given['http.address'] ?? `127.0.0.1:${await freePort()}`;
  const settings = {
    'data-dir': dataDirectory,
    'http.address': httpAddress,
    'peering.address': '127.0.0.1:0',
    'log.format': 'json',
    // A test or a measurement sends all of its requests with one token.
    'limits.rate-per-token': '0',
    ...given,
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => [`--${key.replaceAll('.', '-')}`, value]);
  const program = [process.execPath, options.entry ?? ENTRY, 'server'];
  const command = [...(options.commandPrefix ?? []), ...program, ...flags, ...(options.args ?? [])];
  const child = spawn(command[0] ?? '', command.slice(1), {
    env: { ...cleanEnvironment(), NODE_COMPILE_CACHE: COMPILE_CACHE, ...options.environment },
    cwd: dataDirectory,
    stdio: ['ignore', 'pipe', options.stderr ?? 'pipe'],
  });
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = once(child, 'close');
  const scheme = settings['http.tls-cert' as keyof typeof settings] === undefined ? 'http' : 'https';
  const address = `${scheme}://${httpAddress}`;
  // Trusts any certificate, because the test has reserved the port.
  const agent = scheme === 'http' ? new http.Agent(KEEP_ALIVE) : new https.Agent({ ...KEEP_ALIVE, ...ANY_CERTIFICATE });
  let token = '';

  const server: Server = {
    address,
    dataDirectory,
    process: child,
    get token() {
      return token;
    },
    log: () => log,
    output: () => output,
    request: (method, pathAndQuery, request = {}) => send(agent, address, method, pathAndQuery, { token, ...request }),
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
      agent.destroy();
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      await server.stop('SIGKILL');
      if (options.dataDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true });
    },
  };

  const deadline = performance.now() + READY_MS_MAX;
  const probePath = options.resolveWhenListening ? '/healthz' : '/readyz';
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      await ended;
      throw new StartError(child.exitCode, log);
    }
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const ready = await send(agent, address, 'GET', probePath, { token: null, signal }).catch(() => undefined);
    if (ready?.status === 200) {
      token = await firstToken(dataDirectory);
      return server;
    }
    await delay(20);
  }
  await server[Symbol.asyncDispose]();
  throw new StartError(null, `not ready within ${READY_MS_MAX} ms: ${log}`);
}

async function firstToken(dataDirectory: string): Promise<string> {
  const text = await readFile(path.join(dataDirectory, 'credentials.json'), 'utf8').catch(() => undefined);
  return text === undefined ? '' : (JSON.parse(text) as { peering: { secretId: string } }).peering.secretId;
}

/** Sends one request over a keep-alive connection. */
export function send(
  agent: http.Agent,
  address: string,
  method: string,
  pathAndQuery: string,
  { body, token = null, headers = {}, signal = AbortSignal.timeout(ANSWER_MS_MAX) }: RequestOptions,
): Promise<Answer> {
  const { request: sendRequest } = address.startsWith('https') ? https : http;
  const payload = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(bodyText(body));
  return new Promise((resolve, reject) => {
    const request = sendRequest(
      `${address}${pathAndQuery}`,
      {
        method,
        agent,
        signal,
        headers: {
          ...(token === null || token === '' ? {} : { 'x-service-token': token }),
          ...(payload === undefined ? {} : { 'content-length': payload.length }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: <T>() => JSON.parse(text) as T,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(payload);
  });
}

const bodyText = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

/** Returns the environment without the variables of Accord. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ACCORD_')));
}
