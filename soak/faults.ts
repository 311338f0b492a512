/** What is done to the servers and to what they stand on, as data, and in which order: a seed gives the same plan. */
import type { Random } from '../test/support/random.ts';

/** Servers by name: three of the cluster `a` on one etcd, and the one of the cluster `b`. */
export const SERVERS = ['a1', 'a2', 'a3', 'b1'] as const;
export type ServerName = (typeof SERVERS)[number];

export interface FaultKind {
  readonly what: string;
  /** What it can be done to, if not to everything. `a1` is never killed: its memory tells what a long life costs. */
  readonly targets: readonly ServerName[];
  /** How long it lasts, in seconds. */
  readonly holdS: readonly [least: number, most: number];
  /** No peering can be up meanwhile: now and then it lasts LONG_CUT_S. */
  readonly cutsPeerings: boolean;
}

export const FAULTS = {
  kill: {
    what: 'a server is killed and started again',
    targets: ['a2', 'a3', 'b1'],
    holdS: [0, 6],
    cutsPeerings: false,
  },
  freeze: { what: 'a server is stopped and goes on', targets: SERVERS, holdS: [1, 8], cutsPeerings: false },
  cut: { what: 'the links between the clusters are cut', targets: [], holdS: [1, 20], cutsPeerings: true },
  'half-open': {
    what: 'the links stay open and carry nothing',
    targets: [],
    holdS: [3, 20],
    cutsPeerings: true,
  },
  'one way': {
    what: 'the links carry nothing in one direction',
    targets: [],
    holdS: [3, 20],
    cutsPeerings: true,
  },
  'etcd stop': { what: 'etcd is stopped and started again', targets: [], holdS: [1, 8], cutsPeerings: false },
  'etcd freeze': { what: 'etcd is frozen and goes on', targets: [], holdS: [1, 6], cutsPeerings: false },
} as const satisfies Readonly<Record<string, FaultKind>>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

export interface PlannedFault {
  readonly fault: FaultName;
  /** Undefined: it is done to everything that it can be done to. */
  readonly target: ServerName | undefined;
  readonly pauseMs: number;
  readonly holdMs: number;
}

/** Before a fault, the load runs undisturbed for so many seconds. */
const PAUSE_S = [2, 8] as const;

/**
 * One cut of the links in so many, and how long it lasts: well past ACTIVE_MS, from which on no record may say ACTIVE, and
 * shorter than what makes a traveller's peering late.
 */
const LONG_CUT_EVERY = 3;
export const LONG_CUT_S = [25, 40] as const;

/**
 * Before one fault in so many there is a long calm: past SETTLED_MS, from which on every ACTIVE record must have heard
 * something lately, for some looks.
 */
const CALM_EVERY = FAULT_NAMES.length;
const CALM_S = [30, 35] as const;

/** The middle one of each so many: a run of one or two faults stays as short as it was. */
const isMiddle = (number: number, every: number): boolean => number % every === Math.floor(every / 2);

/** Plans without end: every fault once, in random order, then again; each lasts that share of what its kind says. */
export function* planFaults(names: readonly FaultName[], random: Random, share = 1): Generator<PlannedFault, never> {
  const between = ([least, most]: readonly [number, number]): number =>
    Math.round((least + random.next() * (most - least)) * share * 1000);
  let faults = 0;
  let cuts = 0;
  for (;;) {
    const left = [...names];
    while (left.length > 0) {
      const [fault] = left.splice(random.below(left.length), 1) as [FaultName]; // There is one left.
      const { targets, holdS, cutsPeerings }: FaultKind = FAULTS[fault];
      const isLong = cutsPeerings && isMiddle(cuts++, LONG_CUT_EVERY);
      const pauseS = isMiddle(faults++, CALM_EVERY) ? CALM_S : PAUSE_S;
      const target = targets.length === 0 ? undefined : random.pick(targets);
      yield { fault, target, pauseMs: between(pauseS), holdMs: between(isLong ? LONG_CUT_S : holdS) };
    }
  }
}
