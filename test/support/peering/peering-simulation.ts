/** The peering simulation: two clusters, one seed, everything that can go wrong between them, and what must hold then. */
import assert from 'node:assert/strict';
import { TOMBSTONE_MS } from '../../../src/peering/limits.ts';
import { peerings } from '../../../src/peering/record/record.ts';
import { tombstones } from '../../../src/peering/record/secrets.ts';
import { CLOSING_MS } from '../../../src/peering/stream/limits.ts';
import { drive } from '../drive.ts';
import { watchCrypto } from '../pending-crypto.ts';
import { seedUuids } from '../state/seeded-uuid.ts';
import { sizesOf, unfinished } from './peering-simulation-ends.ts';
import { makePeeringFaults } from './peering-simulation-faults.ts';
import { createPeeringOperators, type PeeringOperators } from './peering-simulation-operations.ts';
import { createPeeringWorld, otherCluster, type PeeringWorld } from './peering-simulation-world.ts';

/** How long things go wrong. */
const CHAOS_MS_MIN = 60_000;
const CHAOS_MS_MAX = 240_000;
/** Back-offs of a minute, a heartbeat timeout, and a removal after a wall clock that went back. */
const CALM_MS_MAX = 10 * 60_000;
const SIMULATED_MS_MAX = 60 * 60_000;
/** More than wall clocks differ by. */
const JUMPS_MS = 5 * 60_000;
/** How soon what has expired is gone. */
const EXPIRY_MS = 5_000;
/** Operations that are under way at once. */
const OPERATORS = 2;

/** What a seed gave: the same again whenever it is run. */
export interface PeeringRun {
  readonly story: readonly string[];
  readonly simulatedMs: number;
}

/**
 * Peerings come, live and go between two clusters of one to three servers, under faults of the network, the servers and
 * their stores. Fails unless everything holds at every moment, all is well when the faults are over, a new token mends
 * what only that can mend, and nothing is left of what was deleted.
 */
export async function simulatePeering(seed: number): Promise<PeeringRun> {
  const world = createPeeringWorld(seed);
  using _ids = seedUuids(world.random.fork());
  const { clock, story } = world;
  try {
    await drive(
      {
        clock,
        simulatedMsMax: SIMULATED_MS_MAX,
        settled: () => world.watch.look(world.clusters),
        isBusy: watchCrypto(),
      },
      wholeStory(world),
    );
  } catch (cause) {
    const [told, logged] = [story, world.logged].map((lines) => lines.slice(-60).join('\n'));
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`at ${clock.monotonic().toFixed(0)}: ${what}\nafter:\n${told}\nlogged:\n${logged}`, { cause });
  }
  return { story, simulatedMs: clock.monotonic() };
}

async function wholeStory(world: PeeringWorld): Promise<void> {
  for (const cluster of world.clusters) {
    for (const name of world.names.get(cluster.name) ?? []) await world.start(cluster, name);
  }
  const before = await quietSizes(world);
  const operators = createPeeringOperators(world);
  for (const [i, cluster] of world.clusters.entries()) await operators.peer(cluster, `p${i}`, `p${i}`);
  await chaos(world, operators);
  await allWell(world);
  await mend(world, operators);
  await staysWell(world);
  await removeAll(world, operators);
  const after = await quietSizes(world);
  for (const [server, sizes] of after) assert.deepEqual(sizes, before.get(server), `${server} keeps something`);
  assert.equal(world.network.connections.size, 0, 'connections are left');
  await Promise.all(world.clusters.flatMap(({ servers }) => [...servers.values()].map((server) => server.stop())));
}

async function chaos(world: PeeringWorld, operators: PeeringOperators): Promise<void> {
  const { random, clock } = world;
  const calm = new AbortController();
  const betweenMs = 500 + random.below(15_000);
  const operate = async (): Promise<void> => {
    while (!calm.signal.aborted) {
      await world.pause(random.below(2 * betweenMs));
      // Who waits for a server that dies waits for ever: others go on.
      await Promise.race([operators.something(), world.pause(20_000)]);
    }
  };
  const failed = Promise.withResolvers<never>();
  const faults = makePeeringFaults(world, 2_000 + random.below(20_000), calm.signal);
  const operating = Array.from({ length: OPERATORS }, operate);
  for (const each of operating) each.catch(failed.reject);
  clock.after(CHAOS_MS_MIN + random.below(CHAOS_MS_MAX - CHAOS_MS_MIN), () => calm.abort());
  await Promise.race([Promise.all([faults, ...operating]), failed.promise]);
  world.tell('calm');
}

/** Waits until nothing is as it must not be. */
async function allWell(world: PeeringWorld): Promise<void> {
  const endMs = world.clock.monotonic() + CALM_MS_MAX;
  for (let rest = unfinished(world); rest.length > 0; rest = unfinished(world)) {
    if (world.clock.monotonic() > endMs) throw new Error(`not well after all: ${rest.join('; ')}`);
    await world.pause(1_000);
  }
  world.tell('all is well');
}

/** Whatever has become of a peering, a new token makes it ACTIVE. */
async function mend(world: PeeringWorld, operators: PeeringOperators): Promise<void> {
  for (const cluster of world.clusters) {
    const [server] = otherCluster(world, cluster).servers.values();
    const dialing = server?.state.snapshot.list(peerings, 'role', 'dialing') ?? [];
    for (const { row } of dialing) {
      if (row.state !== 'ACTIVE') await operators.peer(cluster, `again-${row.name}`, row.name);
    }
  }
  await operators.peer(world.clusters[0], 'fresh', 'fresh');
  await allWell(world);
  for (const { servers } of world.clusters) {
    for (const { state } of servers.values()) {
      const failing = state.snapshot.list(peerings, 'role', 'dialing').filter(({ row }) => row.state !== 'ACTIVE');
      assert.deepEqual(failing, [], 'a new token did not help');
    }
  }
}

/** Once connections that are half-open have been found out, no stream ends while nothing happens. */
async function staysWell(world: PeeringWorld): Promise<void> {
  await world.pause(world.times.heartbeatTimeoutMs + CLOSING_MS);
  await allWell(world);
  const epochs = (): unknown[] =>
    world.clusters.flatMap(({ servers }) =>
      [...servers.values()].map(({ state }) => state.snapshot.all(peerings).map(({ row }) => [row.name, row.epoch])),
    );
  const before = epochs();
  await world.pause(2 * world.times.heartbeatTimeoutMs);
  assert.deepEqual(epochs(), before, 'a stream has ended by itself');
}

async function removeAll(world: PeeringWorld, operators: PeeringOperators): Promise<void> {
  for (const cluster of world.clusters) {
    const [server] = cluster.servers.values();
    for (const { row } of server?.state.snapshot.all(peerings) ?? []) await operators.remove(cluster, row.name);
  }
  await allWell(world);
  const servers = world.clusters.flatMap((cluster) => [...cluster.servers.values()]);
  for (const { state } of servers) assert.equal(state.snapshot.count(peerings), 0);
  for (const { clock } of servers) clock.offsetMs += TOMBSTONE_MS + JUMPS_MS;
  await world.pause(EXPIRY_MS);
  for (const { state } of servers) assert.equal(state.snapshot.count(tombstones), 0);
}

/** What every server holds while nothing happens: of some moments the least. */
async function quietSizes({ clusters, pause }: PeeringWorld): Promise<Map<string, Record<string, number>>> {
  const least = new Map<string, Record<string, number>>();
  for (let look = 0; look < 30; look++) {
    await pause(511);
    for (const server of clusters.flatMap(({ servers }) => [...servers.values()])) {
      const sizes = least.get(server.address) ?? {};
      for (const [name, size] of Object.entries(sizesOf(server))) sizes[name] = Math.min(size, sizes[name] ?? size);
      least.set(server.address, sizes);
    }
  }
  return least;
}
