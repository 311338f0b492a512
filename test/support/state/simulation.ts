/** Simulates a whole cluster in one process: states on a simulated etcd, and faults, reproducible by a seed. */
import { sleep } from '../../../src/state/clock/clock.ts';
import type { State } from '../../../src/state/state.ts';
import { drive } from '../drive.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { createRandom, type Random } from '../random.ts';
import { testEngine } from './etcd-node.ts';
import { createFaultyLink, type FaultyLink } from './faulty-link.ts';
import { createSimulatedEtcd, type SimulatedEtcd } from './simulated-etcd.ts';
import { openState } from './state.ts';

/** Simulated time after which a simulation is considered stuck. */
const SIMULATED_MS_MAX = 20 * 60_000;
const LEASE_MS = 3_000;

export interface SimulatedNode {
  readonly name: string;
  readonly state: State;
  readonly link: FaultyLink;
}

export interface SimulatedCluster {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly etcd: SimulatedEtcd;
  /** Starts a server. Resolves when it is loaded. */
  start(name: string): Promise<SimulatedNode>;
  /** Advances the clock until `promise` settles. Throws if no timer is left. */
  drive<T>(promise: Promise<T>): Promise<T>;
}

/** Creates a cluster without servers. */
export function createSimulatedCluster(seed: number): SimulatedCluster {
  const random = createRandom(seed);
  const clock = createFakeClock();
  const etcd = createSimulatedEtcd(clock, random.fork());
  const ids = random.fork();
  const id = (): string =>
    Array.from({ length: 4 }, () =>
      ids
        .below(2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('-');
  return {
    clock,
    random,
    etcd,
    async start(name) {
      const link = createFaultyLink(etcd.transport, clock, random.fork());
      const engine = testEngine({ endpoints: ['http://simulated'], clock, id, leaseMs: LEASE_MS, connect: () => link });
      return { name, link, state: await openState(engine, { node: name, clock }) };
    },
    drive: (promise) => drive({ clock, simulatedMsMax: SIMULATED_MS_MAX }, promise),
  };
}

/** The faults injected so far, for the message of a failed test. */
export type FaultLog = string[];

/** Injects one fault after another until `signal` aborts, and then repairs all links. */
export async function injectFaults(
  { clock, random, etcd }: SimulatedCluster,
  nodes: () => readonly SimulatedNode[],
  log: FaultLog,
  signal: AbortSignal,
): Promise<void> {
  const faults: Readonly<Record<string, (link: FaultyLink['faults']) => number>> = {
    'slow link': (link) => {
      link.delayMsMax = random.below(60);
      return 0;
    },
    'responses are lost': (link) => {
      link.cutAfter = random.next() * 0.4;
      return random.below(2_000);
    },
    'requests are lost': (link) => {
      link.cutBefore = random.next() * 0.4;
      return random.below(2_000);
    },
    'streams are cut': (link) => {
      link.cutStream = random.next() * 0.3;
      return random.below(2_000);
    },
    'half-open': (link) => {
      link.down = 'silent';
      return random.below(5_000);
    },
    refused: (link) => {
      link.down = 'refused';
      return random.below(5_000);
    },
    'slow watches': () => {
      etcd.watchLagMsMax = random.below(400);
      return 0;
    },
    compaction: () => {
      etcd.compact();
      return 0;
    },
    'lost lease': () => {
      etcd.loseLease();
      return 0;
    },
    'watches cut': () => {
      etcd.cutWatches();
      return 0;
    },
  };
  while (!signal.aborted) {
    await sleep(clock, random.below(400), signal).catch(() => undefined);
    if (signal.aborted) break;
    const name = random.pick(Object.keys(faults));
    const { link, name: node } = random.pick(nodes());
    const ms = faults[name]?.(link.faults) ?? 0;
    log.push(`${clock.monotonic().toFixed(0)} ${node} ${name} ${ms}`);
    if (ms > 0) clock.after(ms, () => repair(link));
  }
  for (const { link } of nodes()) repair(link);
  etcd.watchLagMsMax = 0;
}

/** Removes the faults of a link. Messages that a half-open link dropped stay lost. */
function repair(link: FaultyLink): void {
  if (link.faults.down === 'gone') return;
  const wasSilent = link.faults.down === 'silent';
  Object.assign(link.faults, {
    delayMsMax: Math.min(link.faults.delayMsMax, 5),
    cutBefore: 0,
    cutAfter: 0,
    cutStream: 0,
    down: undefined,
  });
  if (wasSilent) link.drop(new Error('the other side has dropped the connection'));
}
