/** Measures the memory of all processes, and decides whether it grows. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { residentBytes, retainedBytes } from '../bench/support/resident-memory.ts';
import { GROWTH_MAX, LONG_LIFE_GROWTH_MAX } from './limits.ts';
import type { Topology } from './topology.ts';

/** Resident bytes by process: the servers, `etcd`, and the `soak` itself. */
export type Memory = ReadonlyMap<string, number>;

/** Measures all processes after a garbage collection in the servers and in the soak. The workers must be paused. */
export async function measureMemory({ servers, etcd }: Topology): Promise<Memory> {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const retained = await retainedBytes(servers.map(({ pid }) => pid));
  const memory = new Map(servers.map(({ name }, i) => [name as string, retained[i] ?? 0]));
  if (etcd.pid !== undefined) memory.set('etcd', residentBytes(etcd.pid));
  return memory.set('soak', residentBytes(process.pid));
}

const CLUSTERS: Readonly<Record<string, RegExp>> = { 'cluster a': /^a\d$/, 'cluster b': /^b\d$/ };

/** The growth limits. `a1` has one of its own because it is never killed: a leak accumulates there. */
const GROWTH_LIMITS: Readonly<Record<string, number>> = {
  a1: LONG_LIFE_GROWTH_MAX,
  'cluster a': GROWTH_MAX,
  'cluster b': GROWTH_MAX,
};

/** Returns the measurement with the sum of each cluster added. */
export function withClusters(memory: Memory): Memory {
  const sums = Object.entries(CLUSTERS).map(([cluster, servers]): [string, number] => [
    cluster,
    [...memory].reduce((sum, [name, bytes]) => sum + (servers.test(name) ? bytes : 0), 0),
  ]);
  return new Map([...memory, ...sums.filter(([, bytes]) => bytes > 0)]);
}

export interface Growth {
  /** A process or a cluster. */
  readonly name: string;
  /** The growth from the first measurement to the last as a share of the first. */
  readonly share: number;
  readonly hasLimit: boolean;
  readonly exceedsLimit: boolean;
}

/**
 * Compares the last measurement with the first. Servers of a cluster are limited together, because peer streams with
 * some tens of megabytes move between them with every fault. The store's content is bounded, so restarts do not raise
 * memory.
 */
export function growthOf(first: Memory, last: Memory): readonly Growth[] {
  const before = withClusters(first);
  return [...withClusters(last)].map(([name, bytes]) => {
    const share = bytes / (before.get(name) ?? bytes) - 1;
    const limit = GROWTH_LIMITS[name];
    return { name, share, hasLimit: limit !== undefined, exceedsLimit: limit !== undefined && share > limit };
  });
}
