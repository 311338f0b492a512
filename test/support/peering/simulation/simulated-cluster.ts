/** Clusters of the peering simulation: complete servers without HTTP and sockets, each cluster on a simulated etcd. */
import { cluster as clusterTable } from '../../../../src/credentials/cluster.ts';
import { DEFAULT_PARTITION, partitions } from '../../../../src/credentials/partition.ts';
import type { Log } from '../../../../src/http/telemetry/log.ts';
import { SCHEMA } from '../../../../src/main/schema.ts';
import type { PeeringService } from '../../../../src/peering/peering-context.ts';
import { createSecretStore } from '../../../../src/peering/record/encrypted-secret.ts';
import { runPeers } from '../../../../src/peering/run/run-peers.ts';
import type { Acceptor } from '../../../../src/peering/stream/accepting/acceptor.ts';
import type { PresentedSecret } from '../../../../src/peering/stream/accepting/exchange-secret.ts';
import type { SessionTimes } from '../../../../src/peering/stream/contract.ts';
import type { LiveStreams } from '../../../../src/peering/stream/status/live-streams.ts';
import type { StreamTraffic } from '../../../../src/peering/stream/status/stream-traffic.ts';
import type { TrustContext } from '../../../../src/peering/trust/api/trust-context.ts';
import { openServerIdentity } from '../../../../src/peering/trust/identity.ts';
import type { State } from '../../../../src/state/state.ts';
import type { FakeClock } from '../../fake-clock.ts';
import type { Random } from '../../random.ts';
import { testEngine } from '../../state/etcd-node.ts';
import { createFaultyLink, type FaultyLink } from '../../state/faulty-link.ts';
import { createProcessClock, type ProcessClock } from '../../state/process-clock.ts';
import { uuidOf } from '../../state/seeded-uuid.ts';
import { createSimulatedEtcd, type SimulatedEtcd } from '../../state/simulated-etcd.ts';
import { openState } from '../../state/state.ts';
import type { SimulatedNetwork } from './simulated-network.ts';

const VERSION = '1.13.0';
/** `node.lease` of the servers. A dead server keeps its name and its streams for this time. */
export const LEASE_MS = 3_000;

export interface SimulatedServer {
  readonly cluster: SimulatedCluster;
  readonly name: string;
  /** `cluster-server:port` */
  readonly address: string;
  readonly clock: ProcessClock;
  /** The connection to the server's etcd. */
  readonly link: FaultyLink;
  readonly state: State;
  readonly service: PeeringService;
  readonly trust: TrustContext;
  readonly live: LiveStreams;
  readonly traffic: StreamTraffic;
  /** Aborts when the server has stopped or died. */
  readonly stopped: AbortSignal;
  /** Kills the server. When `silent`, peers get no reset and detect the death by timeout. */
  kill(silent: boolean): void;
  /** Stops the server as SIGTERM does. */
  stop(): Promise<void>;
}

export interface SimulatedCluster {
  readonly name: string;
  readonly etcd: SimulatedEtcd;
  /** The running servers by name. */
  readonly servers: Map<string, SimulatedServer>;
  /** Starts a server. Resolves when it is ready. */
  start(name: string): Promise<SimulatedServer>;
}

export interface ClusterOptions {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly times: SessionTimes;
  readonly tokenTtlMs: number;
  readonly log: Log;
  /** Called when the cluster has accepted an establishment secret. */
  readonly secretExchanged: (cluster: string, presented: PresentedSecret) => void;
}

export function createSimulatedCluster(name: string, options: ClusterOptions): SimulatedCluster {
  const etcd = createSimulatedEtcd(options.clock, options.random.fork());
  const cluster: SimulatedCluster = {
    name,
    etcd,
    servers: new Map(),
    start: (server) => startServer(cluster, server, options),
  };
  return cluster;
}

async function startServer(cluster: SimulatedCluster, name: string, options: ClusterOptions): Promise<SimulatedServer> {
  const { network, random, times: sessions, tokenTtlMs } = options;
  const address = `${cluster.name}-${name}:8503`;
  const log = options.log.child({ server: address });
  const clock = createProcessClock(options.clock);
  const link = createFaultyLink(cluster.etcd.transport, clock, random.fork());
  const ids = random.fork();
  const engine = testEngine({
    endpoints: ['http://simulated'],
    clock,
    id: () => uuidOf(ids),
    leaseMs: LEASE_MS,
    connect: () => link,
  });
  await using resources = new AsyncDisposableStack();
  const state = resources.use(
    await openState(engine, {
      schema: SCHEMA,
      node: name,
      clock,
      log: (level, text, fields) => writeLog(log, level, text, fields),
    }),
  );
  await initializeState(state, cluster.name);
  const secrets = createSecretStore(undefined);
  const identity = resources.use(await openServerIdentity({ state, clock, secrets, log }));
  const stopped = new AbortController();
  const credentials = { state, policy: { enabled: false, defaultPolicy: 'allow' }, edition: 'enterprise' } as const;
  const peers = resources.use(
    await runPeers({
      credentials,
      node: name,
      clock,
      log,
      identity,
      secrets,
      addresses: [address],
      connect: network.connector({ cluster: cluster.name, address, version: VERSION, stopped: stopped.signal }),
      version: VERSION,
      consul: false,
      sessions,
      tokenTtlMs,
      peeringsMax: 100,
      streamsMax: 100,
      random: () => random.next(),
    }),
  );
  const { service, live, traffic } = peers;
  const acceptor: Acceptor = {
    ...peers.acceptor,
    async exchange(request, call) {
      const answer = await peers.acceptor.exchange(request, call);
      const { PeerID: peerId, EstablishmentSecret: establishmentSecret } = request;
      options.secretExchanged(cluster.name, {
        peerId,
        establishmentSecret,
        address: call.address,
        disconnected: { aborted: false },
      });
      return answer;
    },
  };
  network.listen({ address, acceptor, certificate: identity.current });
  const owned = resources.move();
  /** Removes the server from the cluster and stops listening. */
  const unlist = (silent: boolean): void => {
    cluster.servers.delete(name);
    network.close(address, silent);
  };
  /** Ends the process and its connections. */
  const end = (silent: boolean): void => {
    stopped.abort();
    clock.kill();
    for (const connection of network.connections) {
      if (connection.dialer !== address && connection.target !== address) continue;
      if (silent) for (const direction of ['up', 'down'] as const) connection.dropPackets(direction);
      connection.disconnect(connection.dialer === address ? 'dialing' : 'accepting');
    }
  };
  const server: SimulatedServer = {
    cluster,
    name,
    address,
    clock,
    link,
    state,
    service,
    trust: { credentials, clock, secrets, name: identity },
    live,
    traffic,
    stopped: stopped.signal,
    kill(silent) {
      unlist(silent);
      link.faults.down = 'gone';
      end(silent);
    },
    async stop() {
      unlist(false);
      await peers.stop();
      await owned.disposeAsync();
      end(false);
    },
  };
  cluster.servers.set(name, server);
  return server;
}

/** Writes what the first start of a server creates, without the credentials. */
async function initializeState(state: State, datacenter: string): Promise<void> {
  await state.write((tx) => {
    if (tx.get(clusterTable, 'cluster') !== undefined) return;
    tx.put(clusterTable, { id: 'cluster', datacenter, createTime: new Date(tx.now).toISOString() });
    tx.put(partitions, { name: DEFAULT_PARTITION, description: '' });
  });
}

function writeLog(log: Log, level: string, text: string, fields: Record<string, unknown> | undefined): void {
  if (level === 'error') log.error(fields ?? {}, text);
  else if (level === 'warn') log.warn(fields ?? {}, text);
  else log.info(fields ?? {}, text);
}
