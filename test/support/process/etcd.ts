/** etcd clusters for tests: one or more members on loopback, with their data in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { toolPath } from '../tools.ts';
import { until } from '../until.ts';

/** Timeout for a member to become healthy, and for an election. */
const START_MS_MAX = 20_000;

export interface EtcdMember {
  /** The client URL, `http://127.0.0.1:…`, or `https` with `tls`. */
  readonly url: string;
  readonly port: number;
  /** The process ID. `undefined` while the member is stopped. */
  readonly pid: number | undefined;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<void>;
  /** Starts the member on the same data and ports. */
  start(): Promise<void>;
  /** Sends SIGSTOP: the connections stay open, and the member does not respond. */
  freeze(): void;
  /** Sends SIGCONT. */
  thaw(): void;
  /** With `tls`: the member's self-signed certificate, as PEM text. */
  certificate(): string;
  /** Copies the data of the stopped member. */
  saveData(): void;
  /** Replaces the data of the stopped member with the copy, like a restore from a snapshot. */
  restoreData(): void;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly urls: readonly string[];
  /** The first member. */
  readonly first: EtcdMember;
  /** Calls the JSON gateway of the first member (`/v3/…`). @throws Error with etcd's message if the call fails */
  call(path: string, body: object, token?: string): Promise<Record<string, unknown>>;
  /** Returns the leader. Waits for the end of an election, which a busy machine can cause at any time. */
  leader(): Promise<EtcdMember>;
}

export interface EtcdSettings {
  /** Default: 1. */
  readonly members?: number;
  /** Whether clients connect with TLS. Each member generates its certificate. */
  readonly tls?: boolean;
  /** Additional flags for every member. */
  readonly flags?: readonly string[];
}

/** Starts a cluster. Resolves when every member is healthy. */
export async function startEtcd(settings: EtcdSettings = {}): Promise<EtcdCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'accord-etcd-'));
  const count = settings.members ?? 1;
  const ports = await Promise.all(Array.from({ length: count * 2 }, freePort));
  const configs = Array.from({ length: count }, (_, index) => ({
    name: `m${index}`,
    client: ports[index * 2] as number, // Two ports per member.
    peer: ports[index * 2 + 1] as number,
    folder: join(folder, `m${index}`),
    scheme: settings.tls === true ? ('https' as const) : ('http' as const),
  }));
  const initial = configs.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(',');
  const members = configs.map((config) => createMember(config, initial, settings.flags ?? []));
  const dispose = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.kill()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (error) {
    await dispose();
    throw error;
  }
  const first = members[0] as EtcdMember; // A cluster has at least one member.
  return {
    members,
    first,
    urls: members.map(({ url }) => url),
    call: (path, body, token) => post(first.url, path, body, token),
    leader: () => findLeader(members),
    [Symbol.asyncDispose]: dispose,
  };
}

interface MemberConfig {
  readonly name: string;
  /** The port for clients. */
  readonly client: number;
  /** The port for other members. */
  readonly peer: number;
  readonly folder: string;
  readonly scheme: 'http' | 'https';
}

function createMember(config: MemberConfig, initial: string, flags: readonly string[]): EtcdMember {
  const url = `${config.scheme}://127.0.0.1:${config.client}`;
  let child: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    // A frozen process handles SIGTERM only after SIGCONT.
    ending.kill('SIGCONT');
    ending.kill(signal);
    await exited;
  };
  return {
    url,
    port: config.client,
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async start() {
      child = spawn(toolPath('etcd'), [...memberFlags(config, url, initial), ...flags], { stdio: 'ignore' });
      await untilHealthy(url, child);
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    certificate: () => readFileSync(join(config.folder, 'fixtures', 'client', 'cert.pem'), 'utf8'),
    saveData: () => cpSync(config.folder, `${config.folder}.saved`, { recursive: true }),
    restoreData() {
      rmSync(config.folder, { recursive: true });
      cpSync(`${config.folder}.saved`, config.folder, { recursive: true });
    },
  };
}

/** Returns the flags of a member. The election timeout is short, so that the loss of a leader delays a test little. */
function memberFlags({ name, folder, peer, scheme }: MemberConfig, url: string, initial: string): string[] {
  const settings = {
    name,
    'data-dir': folder,
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': `http://127.0.0.1:${peer}`,
    'initial-advertise-peer-urls': `http://127.0.0.1:${peer}`,
    'initial-cluster': initial,
    'heartbeat-interval': '50',
    'election-timeout': '500',
    'log-level': 'error',
  };
  const flags = Object.entries(settings).flatMap(([flag, value]) => [`--${flag}`, value]);
  return scheme === 'https' ? [...flags, '--auto-tls'] : flags;
}

async function untilHealthy(url: string, child: ChildProcess): Promise<void> {
  const end = Date.now() + START_MS_MAX;
  while (Date.now() < end) {
    if (child.exitCode !== null)
      throw new Error(`etcd exited with code ${child.exitCode}: another process may use its port`);
    if (await isHealthy(`${url}/health`)) return;
    await delay(20);
  }
  throw new Error(`etcd at ${url} was not healthy within ${START_MS_MAX} ms`);
}

/** Reports whether a member is healthy. Trusts any certificate, because the test has reserved the port. */
async function isHealthy(url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const settings = { timeout: 1_000, rejectUnauthorized: false };
  const request = (url.startsWith('https') ? https : http).get(url, settings, (answer) => {
    answer.resume();
    resolve(answer.statusCode === 200);
  });
  request.on('error', () => resolve(false)).on('timeout', () => request.destroy());
  return promise;
}

async function post(url: string, path: string, body: object, token?: string): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: token }) };
  const signal = AbortSignal.timeout(10_000);
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`etcd rejected ${path}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function findLeader(members: readonly EtcdMember[]): Promise<EtcdMember> {
  let leader: EtcdMember | undefined;
  const isFound = async (): Promise<boolean> => {
    for (const member of members) {
      const status = await post(member.url, '/v3/maintenance/status', {}).catch(() => undefined);
      const header = status?.['header'] as { member_id?: string } | undefined;
      if (status !== undefined && header?.member_id === status['leader']) leader = member;
    }
    return leader !== undefined;
  };
  await until('a member is the leader', isFound, START_MS_MAX);
  return leader as EtcdMember; // `isFound` has set it.
}
