/** What goes wrong in the peering simulation. */
import type { PeeringWorld } from './peering-simulation-world.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';

/** Longest time until a server that died is started again. */
const DEAD_MS_MAX = 24_000;
const JUMP_MS_MAX = 60_000;

/** Makes one fault after another until `calm` aborts. What it has started ends by itself, except what `heal` ends. */
export async function makePeeringFaults(world: PeeringWorld, betweenMs: number, calm: AbortSignal): Promise<void> {
  const { random, network, clusters, times } = world;
  const restarts: Promise<unknown>[] = [];
  const longMs = times.heartbeatTimeoutMs * 1.5;

  const path = () => {
    const [from, to] = random.chance(0.5) ? clusters : [clusters[1], clusters[0]];
    return network.path(from.name, to.name);
  };
  const connection = () => (network.connections.size === 0 ? undefined : random.pick([...network.connections]));
  const server = (): SimulatedServer | undefined => {
    const all = clusters.flatMap(({ servers }) => [...servers.values()]);
    return all.length === 0 ? undefined : random.pick(all);
  };
  const startAgain = async (cluster: SimulatedCluster, name: string): Promise<void> => {
    await world.pause(random.below(DEAD_MS_MAX));
    await world.start(cluster, name);
    world.tell(`${cluster.name}-${name} serves again`);
  };
  const passing = (ms: number, undo: () => void): void => {
    world.clock.after(ms, () => {
      if (calm.aborted) return;
      undo();
      for (const each of network.connections) each.resume();
    });
  };

  const faults: Readonly<Record<string, () => void>> = {
    slow() {
      const slowed = path();
      slowed.delayMsMax = random.below(3_000);
      passing(random.below(longMs), () => Object.assign(slowed, { delayMsMax: 5 }));
    },
    'one-way'() {
      const stalled = path();
      stalled.stalled = true;
      passing(random.below(longMs), () => Object.assign(stalled, { stalled: false }));
    },
    'network down'() {
      const both = [network.path('east', 'west'), network.path('west', 'east')];
      for (const each of both) each.stalled = true;
      const connections = random.chance(0.5) ? [...network.connections] : [];
      passing(random.below(longMs), () => {
        for (const each of both) each.stalled = false;
        for (const each of connections) each.cut();
      });
    },
    cut: () => connection()?.cut(),
    'half-open'() {
      const forgotten = connection();
      const directions = random.pick([['up'], ['down'], ['up', 'down']] as const);
      for (const direction of directions) forgotten?.forget(direction);
    },
    kill() {
      const victim = server();
      if (victim === undefined) return;
      victim.kill(random.chance(0.4));
      restarts.push(startAgain(victim.cluster, victim.name));
    },
    stop() {
      const victim = server();
      if (victim !== undefined) restarts.push(victim.stop().then(() => startAgain(victim.cluster, victim.name)));
    },
    'clock jump'() {
      const victim = server();
      if (victim !== undefined) victim.clock.offsetMs = random.below(2 * JUMP_MS_MAX) - JUMP_MS_MAX;
    },
    'lost lease': () => random.pick(clusters).etcd.loseLease(),
    'slow store'() {
      const victim = server();
      if (victim === undefined) return;
      victim.link.faults.delayMsMax = random.below(100);
      passing(random.below(longMs), () => Object.assign(victim.link.faults, { delayMsMax: 5 }));
    },
  };
  // What ends servers and streams comes more often.
  const drawn = [...Object.keys(faults), 'kill', 'kill', 'half-open', 'cut'];
  while (!calm.aborted) {
    await world.pause(random.below(2 * betweenMs));
    if (calm.aborted) break;
    const name = random.pick(drawn);
    world.tell(`fault: ${name}`);
    faults[name]?.();
  }
  network.heal();
  for (const { servers } of clusters) for (const { link } of servers.values()) link.faults.delayMsMax = 5;
  await Promise.all(restarts);
}
