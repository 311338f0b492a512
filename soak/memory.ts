/** What the processes hold in memory, and whether a server holds more and more. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { heldBytes, residentBytes } from '../bench/support/resident.ts';
import { GROWTH_MAX, LONG_LIFE_GROWTH_MAX } from './limits.ts';
import type { World } from './world.ts';

/** Resident bytes by process: servers, `etcd` and the `soak` itself. */
export type Memory = ReadonlyMap<string, number>;

/** Measures all processes, after a pause in which the servers and the soak collect what nothing holds. Nobody may write. */
export async function measureMemory({ seats, etcd }: World): Promise<Memory> {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const held = await heldBytes(seats.map(({ pid }) => pid));
  const memory = new Map(seats.map(({ name }, at) => [name as string, held[at] ?? 0]));
  if (etcd.pid !== undefined) memory.set('etcd', residentBytes(etcd.pid));
  return memory.set('soak', residentBytes(process.pid));
}

/** What is judged together: the servers of a cluster. */
const CLUSTERS: Readonly<Record<string, RegExp>> = { 'cluster a': /^a\d$/, 'cluster b': /^b\d$/ };

/** By what share each that is judged may grow. `a1` is never killed: whatever it does not let go of is still there. */
const GROWTHS_MAX: Readonly<Record<string, number>> = {
  a1: LONG_LIFE_GROWTH_MAX,
  'cluster a': GROWTH_MAX,
  'cluster b': GROWTH_MAX,
};

/** The measurements with the sums that are judged. */
export function withClusters(memory: Memory): Memory {
  const sums = Object.entries(CLUSTERS).map(([cluster, servers]): [string, number] => [
    cluster,
    [...memory].reduce((sum, [name, bytes]) => sum + (servers.test(name) ? bytes : 0), 0),
  ]);
  return new Map([...memory, ...sums.filter(([, bytes]) => bytes > 0)]);
}

export interface Growth {
  /** A process, or a cluster. */
  readonly name: string;
  /** The share by which it grew from the first measurement to the last one. */
  readonly share: number;
  readonly judged: boolean;
  /** Judged, and more than it may. */
  readonly tooMuch: boolean;
}

/**
 * Compares the last measurement with the first one, which is taken after warm-up. Judged are the servers of a cluster
 * together, since which of them holds the streams to the peers, and with them some tens of megabytes, changes with every fault;
 * and the one that is never killed by itself, with room for those.
 * What is kept in the store is bounded, so a server that was started again holds no more than the one before.
 */
export function growthOf(first: Memory, last: Memory): readonly Growth[] {
  const before = withClusters(first);
  return [...withClusters(last)].map(([name, bytes]) => {
    const share = bytes / (before.get(name) ?? bytes) - 1;
    const growthMax = GROWTHS_MAX[name];
    return { name, share, judged: growthMax !== undefined, tooMuch: growthMax !== undefined && share > growthMax };
  });
}
