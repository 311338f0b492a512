/** Does to the world what a plan says, and undoes it. */
import type { Random } from '../test/support/random.ts';
import type { FaultName, PlannedFault } from './faults.ts';
import type { World } from './world.ts';

/** A fault that has begun. */
interface Begun {
  end(): Promise<void>;
}

type Inject = (world: World, planned: PlannedFault, random: Random) => Promise<Begun>;

const heal = (world: World): Begun => ({
  async end() {
    for (const proxy of world.proxies) proxy.heal();
  },
});

const INJECT: Readonly<Record<FaultName, Inject>> = {
  async kill(world, { target = 'a2' }) {
    const seat = world.seat(target);
    await seat.kill();
    return { end: () => seat.start() };
  },
  async freeze(world, { target = 'a2' }) {
    const seat = world.seat(target);
    seat.freeze();
    return {
      async end() {
        seat.thaw();
      },
    };
  },
  async cut(world) {
    for (const proxy of world.proxies) proxy.sever();
    return heal(world);
  },
  async 'half-open'(world) {
    for (const proxy of world.proxies) proxy.silence();
    return heal(world);
  },
  async 'one way'(world, _planned, random) {
    const direction = random.pick(['to-server', 'to-client'] as const);
    for (const proxy of world.proxies) proxy.silence(direction);
    return heal(world);
  },
  async 'etcd stop'(world) {
    await world.etcd.stop();
    return { end: () => world.etcd.start() };
  },
  async 'etcd freeze'(world) {
    world.etcd.freeze();
    return {
      async end() {
        world.etcd.thaw();
      },
    };
  },
};

/** Begins it. @returns how to end it */
export const injectFault: Inject = (world, planned, random) => INJECT[planned.fault](world, planned, random);
