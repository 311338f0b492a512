/** The topology of the peering simulation: two clusters, the network between them, and the invariant checker. */
import { createLog, type Log } from '../../../../src/http/telemetry/log.ts';
import type { SessionTimes } from '../../../../src/peering/stream/contract.ts';
import { sleep } from '../../../../src/state/clock/clock.ts';
import type { Snapshot } from '../../../../src/state/memory/snapshot.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { createRandom, type Random } from '../../random.ts';
import { createInvariantChecker, type InvariantChecker } from './invariant-checker.ts';
import { createSimulatedCluster, type SimulatedCluster, type SimulatedServer } from './simulated-cluster.ts';
import { createSimulatedNetwork, type SimulatedNetwork } from './simulated-network.ts';

/** Stream settings, from very short times to the defaults. */
const TIMES: readonly SessionTimes[] = [
  { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 4_000, handshakeTimeoutMs: 2_000 },
  { heartbeatIntervalMs: 5_000, heartbeatTimeoutMs: 20_000, handshakeTimeoutMs: 5_000 },
  { heartbeatIntervalMs: 15_000, heartbeatTimeoutMs: 120_000, handshakeTimeoutMs: 10_000 },
];
/** Log lines that are kept for the report of a failure. */
const LOG_LINES_MAX = 100;

export interface Topology {
  readonly seed: number;
  readonly clock: FakeClock;
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly times: SessionTimes;
  readonly clusters: readonly [SimulatedCluster, SimulatedCluster];
  /** The names of the servers of each cluster, by the name of the cluster. */
  readonly serverNames: ReadonlyMap<string, readonly string[]>;
  readonly invariants: InvariantChecker;
  /** The operations and faults so far. They are the same for the same seed. */
  readonly events: readonly string[];
  /** The last log lines of all servers. */
  readonly logLines: readonly string[];
  /** Adds to `events`. */
  record(event: string): void;
  /** Starts a server and checks its commits. */
  start(cluster: SimulatedCluster, name: string): Promise<SimulatedServer>;
  pause(ms: number): Promise<void>;
}

/** Creates a topology without running servers. */
export function createTopology(seed: number): Topology {
  const random = createRandom(seed);
  const clock = createFakeClock();
  const times = random.pick(TIMES);
  const network = createSimulatedNetwork(clock, random.fork());
  const events: string[] = [];
  const logLines: string[] = [];
  const log = createLogBuffer(logLines, clock);
  const invariants = createInvariantChecker(clock, times, (here) =>
    newestSnapshot(clusters[0] === here ? clusters[1] : clusters[0]),
  );
  const { secretExchanged } = invariants;
  const options = { clock, network, times, tokenTtlMs: 10 * 60_000, log, secretExchanged };
  const cluster = (name: string): SimulatedCluster =>
    createSimulatedCluster(name, { ...options, random: random.fork() });
  const clusters = [cluster('east'), cluster('west')] as const;
  const never = new AbortController().signal;
  return {
    seed,
    clock,
    random,
    network,
    times,
    clusters,
    serverNames: new Map(clusters.map(({ name }) => [name, ['1', '2', '3'].slice(0, random.pick([1, 1, 2, 3]))])),
    invariants,
    events,
    logLines,
    record: (event) => void events.push(`${clock.monotonic().toFixed(0)} ${event}`),
    async start(startedIn, name) {
      const server = await startedIn.start(name);
      invariants.follow(server);
      return server;
    },
    pause: (ms) => sleep(clock, ms, never),
  };
}

export const otherCluster = ({ clusters }: Topology, cluster: SimulatedCluster): SimulatedCluster =>
  clusters[0] === cluster ? clusters[1] : clusters[0];

/** Returns the newest snapshot of a cluster's servers, or undefined when none runs. */
export function newestSnapshot({ servers }: SimulatedCluster): Snapshot | undefined {
  const snapshots = [...servers.values()].map(({ state }) => state.snapshot);
  return snapshots.toSorted((a, b) => b.index - a.index)[0];
}

function createLogBuffer(lines: string[], clock: FakeClock): Log {
  return createLog({
    level: 'info',
    format: 'text',
    destination: {
      write(line: string) {
        lines.push(`${clock.monotonic().toFixed(0)} ${line.trim()}`);
        if (lines.length > 2 * LOG_LINES_MAX) lines.splice(0, LOG_LINES_MAX);
      },
    },
  });
}
