/** The faults of the peering simulation: network, servers, clocks, leases and stores. */

import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';
import type { Topology } from './topology.ts';

/** The longest time between the death of a server and its restart. */
const RESTART_MS_MAX = 24_000;
const JUMP_MS_MAX = 60_000;

/** Injects random faults until `calm` aborts, then heals the network and waits for the restarts. */
export async function injectFaults(topology: Topology, betweenMs: number, calm: AbortSignal): Promise<void> {
  const { random, network, clusters, times } = topology;
  const restarts: Promise<unknown>[] = [];
  const faultMsMax = times.heartbeatTimeoutMs * 1.5;

  const randomPath = () => {
    const [from, to] = random.chance(0.5) ? clusters : [clusters[1], clusters[0]];
    return network.path(from.name, to.name);
  };
  const randomConnection = () => (network.connections.size === 0 ? undefined : random.pick([...network.connections]));
  const randomServer = (): SimulatedServer | undefined => {
    const all = clusters.flatMap(({ servers }) => [...servers.values()]);
    return all.length === 0 ? undefined : random.pick(all);
  };
  const startAgain = async (cluster: SimulatedCluster, name: string): Promise<void> => {
    await topology.pause(random.below(RESTART_MS_MAX));
    await topology.start(cluster, name);
    topology.record(`${cluster.name}-${name} restarted`);
  };
  const undoAfter = (ms: number, undo: () => void): void => {
    topology.clock.after(ms, () => {
      if (calm.aborted) return;
      undo();
      for (const each of network.connections) each.resume();
    });
  };

  const faults: Readonly<Record<string, () => void>> = {
    slow() {
      const slowed = randomPath();
      slowed.delayMsMax = random.below(3_000);
      undoAfter(random.below(faultMsMax), () => Object.assign(slowed, { delayMsMax: 5 }));
    },
    'one-way'() {
      const stalled = randomPath();
      stalled.stalled = true;
      undoAfter(random.below(faultMsMax), () => Object.assign(stalled, { stalled: false }));
    },
    'network down'() {
      const both = [network.path('east', 'west'), network.path('west', 'east')];
      for (const each of both) each.stalled = true;
      const connections = random.chance(0.5) ? [...network.connections] : [];
      undoAfter(random.below(faultMsMax), () => {
        for (const each of both) each.stalled = false;
        for (const each of connections) each.cut();
      });
    },
    cut: () => randomConnection()?.cut(),
    'half-open'() {
      const halfOpen = randomConnection();
      const directions = random.pick([['up'], ['down'], ['up', 'down']] as const);
      for (const direction of directions) halfOpen?.dropPackets(direction);
    },
    kill() {
      const victim = randomServer();
      if (victim === undefined) return;
      victim.kill(random.chance(0.4));
      restarts.push(startAgain(victim.cluster, victim.name));
    },
    stop() {
      const victim = randomServer();
      if (victim !== undefined) restarts.push(victim.stop().then(() => startAgain(victim.cluster, victim.name)));
    },
    'clock jump'() {
      const victim = randomServer();
      if (victim !== undefined) victim.clock.offsetMs = random.below(2 * JUMP_MS_MAX) - JUMP_MS_MAX;
    },
    'lost lease': () => random.pick(clusters).etcd.loseLease(),
    'slow store'() {
      const victim = randomServer();
      if (victim === undefined) return;
      victim.link.faults.delayMsMax = random.below(100);
      undoAfter(random.below(faultMsMax), () => Object.assign(victim.link.faults, { delayMsMax: 5 }));
    },
  };
  // Faults that end servers and streams are more frequent.
  const names = [...Object.keys(faults), 'kill', 'kill', 'half-open', 'cut'];
  while (!calm.aborted) {
    await topology.pause(random.below(2 * betweenMs));
    if (calm.aborted) break;
    const name = random.pick(names);
    topology.record(`fault: ${name}`);
    faults[name]?.();
  }
  network.heal();
  for (const { servers } of clusters) for (const { link } of servers.values()) link.faults.delayMsMax = 5;
  await Promise.all(restarts);
}
