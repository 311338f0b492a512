/** The faults as data, and the order in which they are injected. A seed always gives the same plan. */
import type { Random } from '../test/support/random.ts';

/** The servers: three of cluster `a` on one etcd, and the one server of cluster `b`. */
export const SERVERS = ['a1', 'a2', 'a3', 'b1'] as const;
export type ServerName = (typeof SERVERS)[number];

export interface FaultKind {
  readonly description: string;
  /**
   * The servers that it can be injected into; empty for faults of the links or of etcd. `a1` is never killed, because
   * its memory shows the growth of a long-lived process.
   */
  readonly targets: readonly ServerName[];
  readonly durationS: readonly [min: number, max: number];
  /** Whether it interrupts all peer streams. One in LONG_CUT_EVERY of these lasts LONG_CUT_S. */
  readonly cutsPeerings: boolean;
}

export const FAULTS = {
  kill: {
    description: 'server killed and restarted',
    targets: ['a2', 'a3', 'b1'],
    durationS: [0, 6],
    cutsPeerings: false,
  },
  freeze: { description: 'server frozen and resumed', targets: SERVERS, durationS: [1, 8], cutsPeerings: false },
  cut: { description: 'links between the clusters reset', targets: [], durationS: [1, 20], cutsPeerings: true },
  'half-open': {
    description: 'links open without traffic',
    targets: [],
    durationS: [3, 20],
    cutsPeerings: true,
  },
  'one way': {
    description: 'links without traffic in one direction',
    targets: [],
    durationS: [3, 20],
    cutsPeerings: true,
  },
  'etcd stop': { description: 'etcd stopped and restarted', targets: [], durationS: [1, 8], cutsPeerings: false },
  'etcd freeze': { description: 'etcd frozen and resumed', targets: [], durationS: [1, 6], cutsPeerings: false },
} as const satisfies Readonly<Record<string, FaultKind>>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

export interface PlannedFault {
  readonly fault: FaultName;
  /** Undefined for a fault of the links or of etcd. */
  readonly target: ServerName | undefined;
  /** The pause before the fault. */
  readonly pauseMs: number;
  readonly durationMs: number;
}

const PAUSE_S = [2, 8] as const;

/** One in LONG_CUT_EVERY cuts of the links is long. */
const LONG_CUT_EVERY = 3;
/**
 * The duration of a long cut: above ACTIVE_MS, after which no record may be ACTIVE, and too short to delay a peering
 * lifecycle past LIFECYCLE_STEP_MS.
 */
export const LONG_CUT_S = [25, 40] as const;

/** The pause before one in PAUSE_LONG_EVERY faults is long. */
const PAUSE_LONG_EVERY = FAULT_NAMES.length;
/** A long pause: above SETTLED_MS, after which the checks of `LastReceive` begin, so that several of them run. */
const PAUSE_LONG_S = [30, 35] as const;

/** Picks the middle one of each `every`, so that a run of one or two faults stays short. */
const isMiddle = (number: number, every: number): boolean => number % every === Math.floor(every / 2);

/** Yields rounds without end. A round has every fault once, in random order. `scale` multiplies all times. */
export function* planFaults(names: readonly FaultName[], random: Random, scale = 1): Generator<PlannedFault, never> {
  const between = ([min, max]: readonly [number, number]): number =>
    Math.round((min + random.next() * (max - min)) * scale * 1000);
  let faults = 0;
  let cuts = 0;
  for (;;) {
    const remaining = [...names];
    while (remaining.length > 0) {
      const [fault] = remaining.splice(random.below(remaining.length), 1) as [FaultName]; // Not empty.
      const { targets, durationS, cutsPeerings }: FaultKind = FAULTS[fault];
      const isLong = cutsPeerings && isMiddle(cuts++, LONG_CUT_EVERY);
      const pauseS = isMiddle(faults++, PAUSE_LONG_EVERY) ? PAUSE_LONG_S : PAUSE_S;
      const target = targets.length === 0 ? undefined : random.pick(targets);
      yield { fault, target, pauseMs: between(pauseS), durationMs: between(isLong ? LONG_CUT_S : durationS) };
    }
  }
}
