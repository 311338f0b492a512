/** Clusters of one server each, as whole processes that can be killed and started again, and peerings between them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../free-port.ts';
import { type Answer, type RequestOptions, type Server, type ServerOptions, startServer } from '../process/server.ts';
import { until } from '../until.ts';

/** A record as the API shows it; what a test looks at. */
export interface ShownRecord {
  readonly ID: string;
  readonly Name: string;
  readonly State: 'INITIAL' | 'ACTIVE' | 'TERMINATED';
  readonly PeerID?: string;
  readonly PeerServerAddresses?: readonly string[];
  readonly StreamStatus: {
    readonly ImportedServices: readonly string[] | null;
    readonly ExportedServices?: readonly string[];
    readonly LastHeartbeat?: string;
    readonly LastReceive?: string;
    readonly LastSend?: string;
  };
  readonly ModifyIndex: number;
  readonly DeletedAt?: string;
  readonly Failing?: { readonly Since: string; readonly Reason: string };
}

export interface ClusterOptions {
  /** Heartbeats every second, dead after two, unless given. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Cluster extends AsyncDisposable {
  /** The process of now. */
  readonly server: Server;
  /** Where its peer listener is, `host:port`; the same after a restart. */
  readonly peeringAddress: string;
  readonly peeringPort: number;
  request(method: string, pathAndQuery: string, options?: RequestOptions): Promise<Answer>;
  /** The record of a peering; undefined when there is none. */
  record(name: string): Promise<ShownRecord | undefined>;
  /** Waits for a record to fit. @returns it */
  untilRecord(name: string, fits: (record: ShownRecord | undefined) => boolean, ms?: number): Promise<ShownRecord>;
  generate(name: string, body?: Readonly<Record<string, unknown>>): Promise<string>;
  establish(name: string, token: string, body?: Readonly<Record<string, unknown>>): Promise<Answer>;
  /** Ends the process, with SIGKILL unless another signal is given. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same ports and data, with further settings if given. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
}

/**
 * How long a record may take to fit when the test does not say: some pauses between attempts to open a stream, which
 * double when a busy machine lets one fail.
 */
const FITS_MS_MAX = 30_000;
/** As soon as the settings allow: a dead link is noticed within two seconds. */
const QUICK = { 'peering.heartbeat-interval': '1s', 'peering.heartbeat-timeout': '2s' };

/** Starts a cluster of one server on SQLite, its data in a folder that goes with it. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), 'accord-cluster-'));
  const peeringPort = await freePort();
  const peeringAddress = `127.0.0.1:${peeringPort}`;
  const settings = {
    ...QUICK,
    'http.address': `127.0.0.1:${await freePort()}`,
    'peering.address': peeringAddress,
    ...options.settings,
  };
  const startAgain = (further: Readonly<Record<string, string>> = {}): Promise<Server> => {
    const start: ServerOptions = { dataDirectory, settings: { ...settings, ...further } };
    return startServer(options.environment === undefined ? start : { ...start, environment: options.environment });
  };
  let server = await startAgain();

  const cluster: Cluster = {
    get server() {
      return server;
    },
    peeringAddress,
    peeringPort,
    request: (method, pathAndQuery, request) => server.request(method, pathAndQuery, request),
    async record(name) {
      const answer = await server.request('GET', `/v1/peering/${name}`);
      return answer.status === 200 ? answer.json<ShownRecord>() : undefined;
    },
    async untilRecord(name, fits, ms = FITS_MS_MAX) {
      let record: ShownRecord | undefined;
      const look = async (): Promise<boolean> => {
        record = await cluster.record(name);
        return fits(record);
      };
      await until(`the record of ${name} fits`, look, ms).catch((error: Error) => {
        throw new Error(`${error.message}; it is ${JSON.stringify(record)}`);
      });
      return record as ShownRecord;
    },
    async generate(name, body = {}) {
      const answer = await server.request('POST', '/v1/peering/token', { body: { PeerName: name, ...body } });
      if (answer.status !== 200) throw new Error(`no peering token: ${answer.status} ${answer.text}`);
      return answer.json<{ PeeringToken: string }>().PeeringToken;
    },
    establish: (name, token, body = {}) =>
      server.request('POST', '/v1/peering/establish', { body: { PeerName: name, PeeringToken: token, ...body } }),
    async kill(signal = 'SIGKILL') {
      await server.stop(signal);
    },
    async start(further) {
      server = await startAgain(further);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
  return cluster;
}

export const isActive = (record: ShownRecord | undefined): boolean => record?.State === 'ACTIVE';
export const isFailing = (record: ShownRecord | undefined): boolean => record?.Failing !== undefined;
export const isTerminated = (record: ShownRecord | undefined): boolean => record?.State === 'TERMINATED';

/** Peers two clusters: `accepting` knows the other as `to`, `dialing` knows it as `from`; both are ACTIVE afterwards. */
export async function peerClusters(
  accepting: Cluster,
  dialing: Cluster,
  { to = 'dialer', from = 'acceptor', addresses }: { to?: string; from?: string; addresses?: readonly string[] } = {},
): Promise<void> {
  const token = await accepting.generate(to, addresses === undefined ? {} : { ServerExternalAddresses: addresses });
  const answer = await dialing.establish(from, token);
  if (answer.status !== 200) throw new Error(`not established: ${answer.status} ${answer.text}`);
  await accepting.untilRecord(to, isActive);
  await dialing.untilRecord(from, isActive);
}
