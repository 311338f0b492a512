/** Clusters of the peering simulation: servers that are whole but for HTTP and sockets, on a simulated etcd each. */
import { cluster as clusterTable } from '../../../src/credentials/cluster.ts';
import { DEFAULT_PARTITION, partitions } from '../../../src/credentials/partition.ts';
import type { Log } from '../../../src/http/telemetry/log.ts';
import { SCHEMA } from '../../../src/main/schema.ts';
import type { PeeringService } from '../../../src/peering/peering-context.ts';
import { createSecretStore } from '../../../src/peering/record/encrypted-secret.ts';
import { runPeers } from '../../../src/peering/run-peers.ts';
import type { Acceptor } from '../../../src/peering/stream/accepting/acceptor.ts';
import type { PresentedSecret } from '../../../src/peering/stream/accepting/exchange-secret.ts';
import type { SessionTimes } from '../../../src/peering/stream/contract.ts';
import type { LiveStreams } from '../../../src/peering/stream/status/live-streams.ts';
import type { StreamTraffic } from '../../../src/peering/stream/status/stream-traffic.ts';
import type { Trust } from '../../../src/peering/trust/api/operation.ts';
import { openServerIdentity } from '../../../src/peering/trust/identity.ts';
import type { State } from '../../../src/state/state.ts';
import type { FakeClock } from '../fake-clock.ts';
import type { Random } from '../random.ts';
import { testEngine } from '../state/etcd-node.ts';
import { createFaultyLink, type FaultyLink } from '../state/faulty-link.ts';
import { createProcessClock, type ProcessClock } from '../state/process-clock.ts';
import { uuidOf } from '../state/seeded-uuid.ts';
import { createSimulatedEtcd, type SimulatedEtcd } from '../state/simulated-etcd.ts';
import { openState } from '../state/state.ts';
import type { SimulatedNetwork } from './simulated-network.ts';

const VERSION = '1.13.0';
/** How long a server keeps its name, and its streams their record, after its death. */
export const LEASE_MS = 3_000;

export interface SimulatedServer {
  readonly cluster: SimulatedCluster;
  readonly name: string;
  /** `cluster-server:port` */
  readonly address: string;
  readonly clock: ProcessClock;
  /** To its etcd. */
  readonly link: FaultyLink;
  readonly state: State;
  readonly service: PeeringService;
  readonly trust: Trust;
  readonly live: LiveStreams;
  readonly traffic: StreamTraffic;
  /** Aborts when it has ended, in whatever way. */
  readonly gone: AbortSignal;
  /** Dies: `silent` ones leave their peers to find out by themselves. */
  kill(silent: boolean): void;
  /** Leaves as on SIGTERM. */
  stop(): Promise<void>;
}

export interface SimulatedCluster {
  readonly name: string;
  readonly etcd: SimulatedEtcd;
  /** Those that serve, by name. */
  readonly servers: Map<string, SimulatedServer>;
  /** Resolves when it serves. */
  start(name: string): Promise<SimulatedServer>;
}

export interface ClusterParts {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly times: SessionTimes;
  readonly tokenTtlMs: number;
  readonly log: Log;
  /** An establishment secret was taken. */
  readonly exchanged: (cluster: string, presented: PresentedSecret) => void;
}

export function createSimulatedCluster(name: string, parts: ClusterParts): SimulatedCluster {
  const etcd = createSimulatedEtcd(parts.clock, parts.random.fork());
  const cluster: SimulatedCluster = {
    name,
    etcd,
    servers: new Map(),
    start: (server) => startServer(cluster, server, parts),
  };
  return cluster;
}

async function startServer(cluster: SimulatedCluster, name: string, parts: ClusterParts): Promise<SimulatedServer> {
  const { network, random, times: sessions, tokenTtlMs } = parts;
  const address = `${cluster.name}-${name}:8503`;
  const log = parts.log.child({ server: address });
  const clock = createProcessClock(parts.clock);
  const link = createFaultyLink(cluster.etcd.transport, clock, random.fork());
  const ids = random.fork();
  const engine = testEngine({
    endpoints: ['http://simulated'],
    clock,
    id: () => uuidOf(ids),
    leaseMs: LEASE_MS,
    connect: () => link,
  });
  await using opened = new AsyncDisposableStack();
  const state = opened.use(
    await openState(engine, {
      schema: SCHEMA,
      node: name,
      clock,
      log: (level, text, fields) => toLog(log, level, text, fields),
    }),
  );
  await makeFirstStart(state, cluster.name);
  const secrets = createSecretStore(undefined);
  const identity = opened.use(await openServerIdentity({ state, clock, secrets, log }));
  const gone = new AbortController();
  const credentials = { state, policy: { enabled: false, defaultPolicy: 'allow' }, edition: 'enterprise' } as const;
  const peers = opened.use(
    await runPeers({
      credentials,
      node: name,
      clock,
      log,
      identity,
      secrets,
      addresses: [address],
      connect: network.connector({ cluster: cluster.name, address, version: VERSION, gone: gone.signal }),
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
      parts.exchanged(cluster.name, { peerId, establishmentSecret, address: call.address, gone: { aborted: false } });
      return answer;
    },
  };
  network.listen({ address, acceptor, certificate: identity.current });
  const owned = opened.move();
  /** Nobody finds it any more. */
  const leave = (silent: boolean): void => {
    cluster.servers.delete(name);
    network.close(address, silent);
  };
  /** The process is gone, and what the system held for it. */
  const end = (silent: boolean): void => {
    gone.abort();
    clock.kill();
    for (const connection of network.connections) {
      if (connection.dialer !== address && connection.target !== address) continue;
      if (silent) for (const direction of ['up', 'down'] as const) connection.forget(direction);
      connection.abandon(connection.dialer === address ? 'dialing' : 'accepting');
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
    gone: gone.signal,
    kill(silent) {
      leave(silent);
      link.faults.down = 'gone';
      end(silent);
    },
    async stop() {
      leave(false);
      await peers.stop();
      await owned.disposeAsync();
      end(false);
    },
  };
  cluster.servers.set(name, server);
  return server;
}

/** What the first start of a server makes, without the credentials. */
async function makeFirstStart(state: State, datacenter: string): Promise<void> {
  await state.write((tx) => {
    if (tx.get(clusterTable, 'cluster') !== undefined) return;
    tx.put(clusterTable, { id: 'cluster', datacenter, createTime: new Date(tx.now).toISOString() });
    tx.put(partitions, { name: DEFAULT_PARTITION, description: '' });
  });
}

function toLog(log: Log, level: string, text: string, fields: Record<string, unknown> | undefined): void {
  if (level === 'error') log.error(fields ?? {}, text);
  else if (level === 'warn') log.warn(fields ?? {}, text);
  else log.info(fields ?? {}, text);
}
