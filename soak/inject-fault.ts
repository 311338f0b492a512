/** How each fault is injected and ended. */
import type { Random } from '../test/support/random.ts';
import type { FaultName, PlannedFault } from './faults.ts';
import type { Topology } from './topology.ts';

interface ActiveFault {
  end(): Promise<void>;
}

type Inject = (topology: Topology, planned: PlannedFault, random: Random) => Promise<ActiveFault>;

const healLinks = (topology: Topology): ActiveFault => ({
  async end() {
    for (const proxy of topology.proxies) proxy.heal();
  },
});

const INJECT: Readonly<Record<FaultName, Inject>> = {
  async kill(topology, { target = 'a2' }) {
    const server = topology.server(target);
    await server.kill();
    return { end: () => server.start() };
  },
  async freeze(topology, { target = 'a2' }) {
    const server = topology.server(target);
    server.freeze();
    return {
      async end() {
        server.thaw();
      },
    };
  },
  async cut(topology) {
    for (const proxy of topology.proxies) proxy.sever();
    return healLinks(topology);
  },
  async 'half-open'(topology) {
    for (const proxy of topology.proxies) proxy.silence();
    return healLinks(topology);
  },
  async 'one way'(topology, _planned, random) {
    const direction = random.pick(['to-server', 'to-client'] as const);
    for (const proxy of topology.proxies) proxy.silence(direction);
    return healLinks(topology);
  },
  async 'etcd stop'(topology) {
    await topology.etcd.stop();
    return { end: () => topology.etcd.start() };
  },
  async 'etcd freeze'(topology) {
    topology.etcd.freeze();
    return {
      async end() {
        topology.etcd.thaw();
      },
    };
  },
};

/** Injects a fault, and returns the handle that ends it. */
export const injectFault: Inject = (topology, planned, random) => INJECT[planned.fault](topology, planned, random);
