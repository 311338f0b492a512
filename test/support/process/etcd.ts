/** Real etcd servers for tests: one or more members on loopback, in a folder that goes with them. */
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

/** How long a member may take to become healthy, and an election to end. */
const START_MS_MAX = 20_000;

/** One member. */
export interface EtcdMember {
  /** `http://127.0.0.1:…` for clients; `https` with `tls`. */
  readonly url: string;
  readonly port: number;
  /** Of its process; undefined while it is stopped. */
  readonly pid: number | undefined;
  /** Ends it as a crash would, and waits until it is gone. */
  kill(): Promise<void>;
  /** Stops it as an operator would. */
  stop(): Promise<void>;
  /** Starts it again on the same data and ports. */
  start(): Promise<void>;
  /** SIGSTOP: it holds its connections and says nothing. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** With `tls`: the certificate that it made for itself, as PEM text. */
  certificate(): string;
  /** Copies its data aside; call while it is stopped. */
  saveData(): void;
  /** Puts the saved data back, as a restore from a snapshot; call while it is stopped. */
  restoreData(): void;
}

/** A cluster of etcd. */
export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly urls: readonly string[];
  /** The first member. */
  readonly first: EtcdMember;
  /** POSTs to the JSON gateway of a member (`/v3/…`); throws with etcd's words when it refuses. */
  call(path: string, body: object, token?: string): Promise<Record<string, unknown>>;
  /** The member that leads; waits for the end of an election, which a busy machine may cause at any time. */
  leader(): Promise<EtcdMember>;
}

/** What differs from a single member with default settings. */
export interface EtcdSettings {
  readonly members?: number;
  /** Clients speak TLS; the member makes its certificate. */
  readonly tls?: boolean;
  /** Further flags for every member. */
  readonly flags?: readonly string[];
}

/** Starts a cluster; resolves when every member answers. */
export async function startEtcd(settings: EtcdSettings = {}): Promise<EtcdCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'accord-etcd-'));
  const count = settings.members ?? 1;
  const ports = await Promise.all(Array.from({ length: count * 2 }, freePort));
  const places = Array.from({ length: count }, (_, index) => ({
    name: `m${index}`,
    client: ports[index * 2] as number, // As many were asked for.
    peer: ports[index * 2 + 1] as number,
    folder: join(folder, `m${index}`),
    scheme: settings.tls === true ? ('https' as const) : ('http' as const),
  }));
  const initial = places.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(',');
  const members = places.map((place) => createMember(place, initial, settings.flags ?? []));
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
  const first = members[0] as EtcdMember; // There is at least one.
  return {
    members,
    first,
    urls: members.map(({ url }) => url),
    call: (path, body, token) => post(first.url, path, body, token),
    leader: () => findLeader(members),
    [Symbol.asyncDispose]: dispose,
  };
}

interface Place {
  readonly name: string;
  readonly client: number;
  readonly peer: number;
  readonly folder: string;
  readonly scheme: 'http' | 'https';
}

function createMember(place: Place, initial: string, flags: readonly string[]): EtcdMember {
  const url = `${place.scheme}://127.0.0.1:${place.client}`;
  let child: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, 'exit');
    // One that is frozen hears SIGTERM only when it goes on.
    ending.kill('SIGCONT');
    ending.kill(signal);
    await gone;
  };
  return {
    url,
    port: place.client,
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async start() {
      child = spawn(toolPath('etcd'), [...memberFlags(place, url, initial), ...flags], { stdio: 'ignore' });
      await healthy(url, child);
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    certificate: () => readFileSync(join(place.folder, 'fixtures', 'client', 'cert.pem'), 'utf8'),
    saveData: () => cpSync(place.folder, `${place.folder}.saved`, { recursive: true }),
    restoreData() {
      rmSync(place.folder, { recursive: true });
      cpSync(`${place.folder}.saved`, place.folder, { recursive: true });
    },
  };
}

/** A short election, so that a lost leader costs a test little; nothing logged. */
function memberFlags({ name, folder, peer, scheme }: Place, url: string, initial: string): string[] {
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

async function healthy(url: string, child: ChildProcess): Promise<void> {
  const end = Date.now() + START_MS_MAX;
  while (Date.now() < end) {
    if (child.exitCode !== null)
      throw new Error(`etcd ended with code ${child.exitCode}: another process may have its port`);
    if (await isHealthy(`${url}/health`)) return;
    await delay(20);
  }
  throw new Error(`etcd at ${url} was not healthy within ${START_MS_MAX} ms`);
}

/** Trusts any certificate: who answers on a port of our own choosing is known. */
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
  if (!answer.ok) throw new Error(`etcd refused ${path}: ${text}`);
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
  await until('a member leads', isFound, START_MS_MAX);
  return leader as EtcdMember; // Found.
}
