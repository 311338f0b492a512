/** The peering simulation: two clusters in one process, whose operations and faults follow from one seed. */
import assert from 'node:assert/strict';
import { TOMBSTONE_TTL_MS } from '../../../../src/peering/limits.ts';
import { peerings } from '../../../../src/peering/record/record.ts';
import { tombstones } from '../../../../src/peering/record/secrets.ts';
import { CLOSING_MS } from '../../../../src/peering/stream/limits.ts';
import { drive } from '../../drive.ts';
import { trackCryptoOperations } from '../../pending-crypto.ts';
import { seedUuids } from '../../state/seeded-uuid.ts';
import { convergenceProblems, resourceCounts } from './convergence.ts';
import { injectFaults } from './inject-faults.ts';
import { createOperators, type Operators } from './operators.ts';
import { createTopology, otherCluster, type Topology } from './topology.ts';

/** Bounds of the duration of the fault phase. */
const FAULTS_MS_MIN = 60_000;
const FAULTS_MS_MAX = 240_000;
/** Covers pauses of a minute between dials, a heartbeat timeout, and a removal after a backward clock jump. */
const CONVERGENCE_MS_MAX = 10 * 60_000;
const SIMULATED_MS_MAX = 60 * 60_000;
/** More than the difference of any two wall clocks. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** The longest time from the expiry of a row to its removal. */
const EXPIRY_MS_MAX = 5_000;
const OPERATIONS_IN_FLIGHT = 2;

/** The result of one seed. It is the same for every run. */
export interface PeeringRun {
  readonly events: readonly string[];
  readonly simulatedMs: number;
}

/**
 * Simulates peerings between two clusters of one to three servers, under faults of the network, servers and stores.
 * Fails when an invariant is violated, when the clusters do not converge after the faults, when a new token does not
 * repair a peering, or when a deleted peering leaves anything behind.
 */
export async function simulatePeering(seed: number): Promise<PeeringRun> {
  const topology = createTopology(seed);
  using _ids = seedUuids(topology.random.fork());
  const { clock, events } = topology;
  try {
    await drive(
      {
        clock,
        simulatedMsMax: SIMULATED_MS_MAX,
        onSettled: () => topology.invariants.check(topology.clusters),
        isBusy: trackCryptoOperations(),
      },
      runScenario(topology),
    );
  } catch (cause) {
    const [lastEvents, lastLines] = [events, topology.logLines].map((lines) => lines.slice(-60).join('\n'));
    const problem = cause instanceof Error ? cause.message : String(cause);
    const at = clock.monotonic().toFixed(0);
    throw new Error(`at ${at} ms: ${problem}\nevents:\n${lastEvents}\nlog:\n${lastLines}`, { cause });
  }
  return { events, simulatedMs: clock.monotonic() };
}

async function runScenario(topology: Topology): Promise<void> {
  for (const cluster of topology.clusters) {
    for (const name of topology.serverNames.get(cluster.name) ?? []) await topology.start(cluster, name);
  }
  const before = await idleResourceCounts(topology);
  const operators = createOperators(topology);
  for (const [i, cluster] of topology.clusters.entries()) await operators.peer(cluster, `p${i}`, `p${i}`);
  await runFaultPhase(topology, operators);
  await awaitConvergence(topology);
  await repairPeerings(topology, operators);
  await checkStability(topology);
  await removeAll(topology, operators);
  const after = await idleResourceCounts(topology);
  for (const [server, counts] of after) assert.deepEqual(counts, before.get(server), `${server} leaked resources`);
  assert.equal(topology.network.connections.size, 0, 'connections leaked');
  await Promise.all(topology.clusters.flatMap(({ servers }) => [...servers.values()].map((server) => server.stop())));
}

async function runFaultPhase(topology: Topology, operators: Operators): Promise<void> {
  const { random, clock } = topology;
  const faultsEnd = new AbortController();
  const betweenMs = 500 + random.below(15_000);
  const operate = async (): Promise<void> => {
    while (!faultsEnd.signal.aborted) {
      await topology.pause(random.below(2 * betweenMs));
      // An operation never ends when its server dies.
      await Promise.race([operators.runRandom(), topology.pause(20_000)]);
    }
  };
  const failed = Promise.withResolvers<never>();
  const faults = injectFaults(topology, 2_000 + random.below(20_000), faultsEnd.signal);
  const operating = Array.from({ length: OPERATIONS_IN_FLIGHT }, operate);
  for (const each of operating) each.catch(failed.reject);
  clock.after(FAULTS_MS_MIN + random.below(FAULTS_MS_MAX - FAULTS_MS_MIN), () => faultsEnd.abort());
  await Promise.race([Promise.all([faults, ...operating]), failed.promise]);
  topology.record('faults ended');
}

/** Waits until both clusters have converged. */
async function awaitConvergence(topology: Topology): Promise<void> {
  const endMs = topology.clock.monotonic() + CONVERGENCE_MS_MAX;
  for (let problems = convergenceProblems(topology); problems.length > 0; problems = convergenceProblems(topology)) {
    if (topology.clock.monotonic() > endMs) throw new Error(`not converged: ${problems.join('; ')}`);
    await topology.pause(1_000);
  }
  topology.record('converged');
}

/** Repairs every peering that is not ACTIVE with a new token, and checks that it becomes ACTIVE [PEER-62]. */
async function repairPeerings(topology: Topology, operators: Operators): Promise<void> {
  for (const cluster of topology.clusters) {
    const [server] = otherCluster(topology, cluster).servers.values();
    const dialing = server?.state.snapshot.list(peerings, 'role', 'dialing') ?? [];
    for (const { row } of dialing) {
      if (row.state !== 'ACTIVE') await operators.peer(cluster, `again-${row.name}`, row.name);
    }
  }
  await operators.peer(topology.clusters[0], 'fresh', 'fresh');
  await awaitConvergence(topology);
  for (const { servers } of topology.clusters) {
    for (const { state } of servers.values()) {
      const failing = state.snapshot.list(peerings, 'role', 'dialing').filter(({ row }) => row.state !== 'ACTIVE');
      assert.deepEqual(failing, [], 'a new token did not repair the peering');
    }
  }
}

/** Waits until half-open connections have timed out, then checks that no stream ends without a fault. */
async function checkStability(topology: Topology): Promise<void> {
  await topology.pause(topology.times.heartbeatTimeoutMs + CLOSING_MS);
  await awaitConvergence(topology);
  const epochs = (): unknown[] =>
    topology.clusters.flatMap(({ servers }) =>
      [...servers.values()].map(({ state }) => state.snapshot.all(peerings).map(({ row }) => [row.name, row.epoch])),
    );
  const before = epochs();
  await topology.pause(2 * topology.times.heartbeatTimeoutMs);
  assert.deepEqual(epochs(), before, 'a stream ended without a fault');
}

async function removeAll(topology: Topology, operators: Operators): Promise<void> {
  for (const cluster of topology.clusters) {
    const [server] = cluster.servers.values();
    for (const { row } of server?.state.snapshot.all(peerings) ?? []) await operators.remove(cluster, row.name);
  }
  await awaitConvergence(topology);
  const servers = topology.clusters.flatMap((cluster) => [...cluster.servers.values()]);
  for (const { state } of servers) assert.equal(state.snapshot.count(peerings), 0);
  for (const { clock } of servers) clock.offsetMs += TOMBSTONE_TTL_MS + CLOCK_SKEW_MS;
  await topology.pause(EXPIRY_MS_MAX);
  for (const { state } of servers) assert.equal(state.snapshot.count(tombstones), 0);
}

/** Samples the resource counts of idle servers and returns the minimum of each count, by server address. */
async function idleResourceCounts({ clusters, pause }: Topology): Promise<Map<string, Record<string, number>>> {
  const least = new Map<string, Record<string, number>>();
  for (let sample = 0; sample < 30; sample++) {
    await pause(511);
    for (const server of clusters.flatMap(({ servers }) => [...servers.values()])) {
      const counts = least.get(server.address) ?? {};
      for (const [name, count] of Object.entries(resourceCounts(server)))
        counts[name] = Math.min(count, counts[name] ?? count);
      least.set(server.address, counts);
    }
  }
  return least;
}
