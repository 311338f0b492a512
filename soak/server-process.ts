/** A server of the topology, whose process may be killed and restarted with the same addresses, data, and name. */
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { GC_ON_SIGNAL_ARGUMENTS } from '../bench/support/resident-memory.ts';
import { freePort } from '../test/support/free-port.ts';
import { type Server, startServer } from '../test/support/process/server.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import type { Target } from './client.ts';
import type { ServerName } from './faults.ts';
import type { ClusterName } from './kinds/resource-kind.ts';
import { HEARTBEAT_INTERVAL_MS, HEARTBEAT_TIMEOUT_MS } from './limits.ts';

export interface ServerProcess extends Target, AsyncDisposable {
  readonly name: ServerName;
  readonly cluster: ClusterName;
  readonly pid: number;
  readonly startCount: number;
  readonly peeringPort: number;
  /** Whether the process is neither killed nor frozen. */
  readonly isUp: boolean;
  /** Returns the exit code or signal of an unexpected exit, once, and undefined otherwise. */
  takeUnexpectedExit(): string | undefined;
  /** Reads `credentials.json`. Only the server that created the first credentials has it. */
  credentials(): Promise<Credentials>;
  /** Reads the last LOG_TAIL_BYTES of the log. */
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

export interface ServerProcessOptions {
  readonly name: ServerName;
  readonly cluster: ClusterName;
  readonly settings: Readonly<Record<string, string>>;
  /** The token of the cluster, if another server created its first credentials. */
  readonly token?: string;
}

const LOG_TAIL_BYTES = 2_000;

/** Starts the first process. Its log goes to a file, which costs the soak no memory. */
export async function startServerProcess({
  name,
  cluster,
  settings,
  token,
}: ServerProcessOptions): Promise<ServerProcess> {
  await using parts = new AsyncDisposableStack();
  const directory = parts.use(await temporaryDirectory()).path;
  const httpAddress = `127.0.0.1:${await freePort()}`;
  const peeringPort = await freePort();
  const logPath = path.join(directory, 'server.log');
  const log = openSync(logPath, 'a');
  parts.defer(() => closeSync(log));
  const allSettings = {
    'http.address': httpAddress,
    'peering.address': `127.0.0.1:${peeringPort}`,
    'peering.heartbeat-interval': `${HEARTBEAT_INTERVAL_MS / 1000}s`,
    'peering.heartbeat-timeout': `${HEARTBEAT_TIMEOUT_MS / 1000}s`,
    'team-access.rate-limit': '0',
    'log.level': 'warn',
    'node.name': name,
    ...settings,
  };
  const environment = { NODE_OPTIONS: GC_ON_SIGNAL_ARGUMENTS.join(' ') };
  const logTail = async (): Promise<string> => (await readFile(logPath, 'utf8')).slice(-LOG_TAIL_BYTES);
  const options = { dataDirectory: directory, settings: allSettings, environment, stderr: log };
  const startProcess = (): Promise<Server> =>
    startServer(options).catch(async (cause: unknown) => {
      throw new Error(`server ${name} did not start: ${await logTail()}`, { cause });
    });
  let server = await startProcess();
  parts.defer(async () => void (await server.stop('SIGKILL')));
  let startCount = 1;
  let isUp = true;
  const owned = parts.move();
  return {
    name,
    cluster,
    address: `http://${httpAddress}`,
    peeringPort,
    token: token ?? server.token,
    get pid() {
      return server.process.pid ?? 0;
    },
    get startCount() {
      return startCount;
    },
    get isUp() {
      return isUp;
    },
    takeUnexpectedExit() {
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
      startCount += 1;
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
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
