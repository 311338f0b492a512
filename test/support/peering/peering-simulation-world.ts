/** The world of the peering simulation: two clusters, the network between them, and who watches what they say. */
import { createLog, type Log } from '../../../src/http/telemetry/log.ts';
import type { SessionTimes } from '../../../src/peering/stream/contract.ts';
import { sleep } from '../../../src/state/clock/clock.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { createRandom, type Random } from '../random.ts';
import { createPeeringWatch, type PeeringWatch } from './peering-simulation-watch.ts';
import { createSimulatedCluster, type SimulatedCluster, type SimulatedServer } from './simulated-cluster.ts';
import { createSimulatedNetwork, type SimulatedNetwork } from './simulated-network.ts';

/** Settings of the stream, from nervous to what operators get by default. */
const TIMES: readonly SessionTimes[] = [
  { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 4_000, handshakeTimeoutMs: 2_000 },
  { heartbeatIntervalMs: 5_000, heartbeatTimeoutMs: 20_000, handshakeTimeoutMs: 5_000 },
  { heartbeatIntervalMs: 15_000, heartbeatTimeoutMs: 120_000, handshakeTimeoutMs: 10_000 },
];
/** Lines of the servers' logs that the report of a failure shows. */
const LOG_LINES = 100;

export interface PeeringWorld {
  readonly seed: number;
  readonly clock: FakeClock;
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly times: SessionTimes;
  readonly clusters: readonly [SimulatedCluster, SimulatedCluster];
  /** The servers that each cluster has when all is well, by the name of the cluster. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  readonly watch: PeeringWatch;
  /** What was done, the same again for the same seed. */
  readonly story: readonly string[];
  /** The end of what the servers logged. */
  readonly logged: readonly string[];
  tell(what: string): void;
  /** Starts a server and watches it. */
  start(cluster: SimulatedCluster, name: string): Promise<SimulatedServer>;
  pause(ms: number): Promise<void>;
}

/** A world in which no server runs yet. */
export function createPeeringWorld(seed: number): PeeringWorld {
  const random = createRandom(seed);
  const clock = createFakeClock();
  const times = random.pick(TIMES);
  const network = createSimulatedNetwork(clock, random.fork());
  const story: string[] = [];
  const logged: string[] = [];
  const log = logInto(logged, clock);
  const watch = createPeeringWatch(clock, times, (here) =>
    newestPicture(clusters[0] === here ? clusters[1] : clusters[0]),
  );
  const parts = { clock, network, times, tokenTtlMs: 10 * 60_000, log, exchanged: watch.exchanged };
  const cluster = (name: string): SimulatedCluster => createSimulatedCluster(name, { ...parts, random: random.fork() });
  const clusters = [cluster('east'), cluster('west')] as const;
  const never = new AbortController().signal;
  return {
    seed,
    clock,
    random,
    network,
    times,
    clusters,
    names: new Map(clusters.map(({ name }) => [name, ['1', '2', '3'].slice(0, random.pick([1, 1, 2, 3]))])),
    watch,
    story,
    logged,
    tell: (what) => void story.push(`${clock.monotonic().toFixed(0)} ${what}`),
    async start(into, name) {
      const server = await into.start(name);
      watch.follow(server);
      return server;
    },
    pause: (ms) => sleep(clock, ms, never),
  };
}

/** The other one of two. */
export const otherCluster = ({ clusters }: PeeringWorld, cluster: SimulatedCluster): SimulatedCluster =>
  clusters[0] === cluster ? clusters[1] : clusters[0];

/** What the server of a cluster shows that has seen most; undefined: none serves. */
export function newestPicture({ servers }: SimulatedCluster): Snapshot | undefined {
  const pictures = [...servers.values()].map(({ state }) => state.snapshot);
  return pictures.toSorted((a, b) => b.index - a.index)[0];
}

function logInto(lines: string[], clock: FakeClock): Log {
  return createLog({
    level: 'info',
    format: 'text',
    destination: {
      write(line: string) {
        lines.push(`${clock.monotonic().toFixed(0)} ${line.trim()}`);
        if (lines.length > 2 * LOG_LINES) lines.splice(0, LOG_LINES);
      },
    },
  });
}
