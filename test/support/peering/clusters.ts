/** Clusters of one server process each, which tests can kill and restart, and peerings between them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../free-port.ts';
import { type Answer, type RequestOptions, type Server, type ServerOptions, startServer } from '../process/server.ts';
import { until } from '../until.ts';

/** The fields of a peering record that tests read. */
export interface RecordJson {
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
  /** The heartbeat settings default to an interval of 1 second and a timeout of 2 seconds. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Cluster extends AsyncDisposable {
  /** The current process. */
  readonly server: Server;
  /** The address of the peer listener, `host:port`. A restart keeps it. */
  readonly peeringAddress: string;
  readonly peeringPort: number;
  request(method: string, pathAndQuery: string, options?: RequestOptions): Promise<Answer>;
  /** Reads a record. Returns undefined when it is missing. */
  record(name: string): Promise<RecordJson | undefined>;
  /** Waits until `fits` accepts the record, and returns it. */
  untilRecord(name: string, fits: (record: RecordJson | undefined) => boolean, ms?: number): Promise<RecordJson>;
  generate(name: string, body?: Readonly<Record<string, unknown>>): Promise<string>;
  establish(name: string, token: string, body?: Readonly<Record<string, unknown>>): Promise<Answer>;
  /** Ends the process. @param signal defaults to SIGKILL */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts the process again with the same ports and data. @param settings are added to those of the cluster */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
}

/** The default wait for a record. Allows for several pauses between dials, which double with each failure. */
const RECORD_MS_MAX = 30_000;
/** The shortest heartbeat settings. A dead connection is detected within 2 seconds. */
const FAST_HEARTBEATS = { 'peering.heartbeat-interval': '1s', 'peering.heartbeat-timeout': '2s' };

/** Starts a cluster of one server on SQLite. Disposing it deletes its data directory. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), 'accord-cluster-'));
  const peeringPort = await freePort();
  const peeringAddress = `127.0.0.1:${peeringPort}`;
  const settings = {
    ...FAST_HEARTBEATS,
    'http.address': `127.0.0.1:${await freePort()}`,
    'peering.address': peeringAddress,
    ...options.settings,
  };
  const startProcess = (further: Readonly<Record<string, string>> = {}): Promise<Server> => {
    const start: ServerOptions = { dataDirectory, settings: { ...settings, ...further } };
    return startServer(options.environment === undefined ? start : { ...start, environment: options.environment });
  };
  let server = await startProcess();

  const cluster: Cluster = {
    get server() {
      return server;
    },
    peeringAddress,
    peeringPort,
    request: (method, pathAndQuery, request) => server.request(method, pathAndQuery, request),
    async record(name) {
      const answer = await server.request('GET', `/v1/peering/${name}`);
      return answer.status === 200 ? answer.json<RecordJson>() : undefined;
    },
    async untilRecord(name, fits, ms = RECORD_MS_MAX) {
      let record: RecordJson | undefined;
      const look = async (): Promise<boolean> => {
        record = await cluster.record(name);
        return fits(record);
      };
      await until(`the record of ${name} fits`, look, ms).catch((error: Error) => {
        throw new Error(`${error.message}; the last one is ${JSON.stringify(record)}`);
      });
      return record as RecordJson;
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
      server = await startProcess(further);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
  return cluster;
}

export const isActive = (record: RecordJson | undefined): boolean => record?.State === 'ACTIVE';
export const isFailing = (record: RecordJson | undefined): boolean => record?.Failing !== undefined;
export const isTerminated = (record: RecordJson | undefined): boolean => record?.State === 'TERMINATED';

/** Peers two clusters and waits until both are ACTIVE. The peering is `to` at `accepting` and `from` at `dialing`. */
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
