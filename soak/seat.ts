/** A place for a server: the same addresses, data and name, whichever process sits there. */
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { MEASURABLE } from '../bench/support/resident.ts';
import { freePort } from '../test/support/free-port.ts';
import { type Server, startServer } from '../test/support/process/server.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import type { Place } from './client.ts';
import type { ServerName } from './faults.ts';
import type { ClusterName } from './kinds/kind.ts';
import { HEARTBEAT_INTERVAL_MS, HEARTBEAT_TIMEOUT_MS } from './limits.ts';

export interface Seat extends Place, AsyncDisposable {
  readonly name: ServerName;
  readonly cluster: ClusterName;
  readonly pid: number;
  /** How often a process was started. */
  readonly starts: number;
  readonly peeringPort: number;
  /** Whether it is there and runs. */
  readonly isUp: boolean;
  /** How its process ended, told once; undefined: it runs, or was ended by the soak. */
  takeEnd(): string | undefined;
  /** `credentials.json`, of the server that made it. */
  credentials(): Promise<Credentials>;
  /** The end of what its processes have logged. */
  logTail(): Promise<string>;
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

export interface Credentials {
  readonly peering: { readonly secretId: string };
  readonly teamAccess: { readonly token: string };
}

export interface SeatOptions {
  readonly name: ServerName;
  readonly cluster: ClusterName;
  readonly settings: Readonly<Record<string, string>>;
  /** Of a cluster whose credentials another server made. */
  readonly token?: string;
}

const LOG_TAIL_BYTES = 2_000;

/** Starts the first process. Its log goes to a file, so that it costs the soak no memory. */
export async function startSeat({ name, cluster, settings, token }: SeatOptions): Promise<Seat> {
  await using parts = new AsyncDisposableStack();
  const directory = parts.use(await temporaryDirectory()).path;
  const httpAddress = `127.0.0.1:${await freePort()}`;
  const peeringPort = await freePort();
  const logPath = path.join(directory, 'server.log');
  const log = openSync(logPath, 'a');
  parts.defer(() => closeSync(log));
  const all = {
    'http.address': httpAddress,
    'peering.address': `127.0.0.1:${peeringPort}`,
    'peering.heartbeat-interval': `${HEARTBEAT_INTERVAL_MS / 1000}s`,
    'peering.heartbeat-timeout': `${HEARTBEAT_TIMEOUT_MS / 1000}s`,
    'team-access.rate-limit': '0',
    'log.level': 'warn',
    'node.name': name,
    ...settings,
  };
  const environment = { NODE_OPTIONS: MEASURABLE.join(' ') };
  const logTail = async (): Promise<string> => (await readFile(logPath, 'utf8')).slice(-LOG_TAIL_BYTES);
  const startProcess = (): Promise<Server> =>
    startServer({ dataDirectory: directory, settings: all, environment, stderr: log }).catch(async (cause: unknown) => {
      throw new Error(`${name} does not start: ${await logTail()}`, { cause });
    });
  let server = await startProcess();
  parts.defer(async () => void (await server.stop('SIGKILL')));
  let starts = 1;
  let isUp = true;
  const kept = parts.move();
  return {
    name,
    cluster,
    address: `http://${httpAddress}`,
    peeringPort,
    token: token ?? server.token,
    get pid() {
      return server.process.pid ?? 0;
    },
    get starts() {
      return starts;
    },
    get isUp() {
      return isUp;
    },
    takeEnd() {
      const { exitCode, signalCode } = server.process;
      if (!isUp || (exitCode === null && signalCode === null)) return undefined;
      isUp = false;
      return `${exitCode ?? signalCode}`;
    },
    async credentials() {
      return JSON.parse(await readFile(path.join(directory, 'credentials.json'), 'utf8')) as Credentials;
    },
    logTail,
    async kill() {
      isUp = false;
      await server.stop('SIGKILL');
    },
    async start() {
      server = await startProcess();
      starts += 1;
      isUp = true;
    },
    freeze() {
      isUp = false;
      server.process.kill('SIGSTOP');
    },
    thaw() {
      server.process.kill('SIGCONT');
      isUp = true;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
