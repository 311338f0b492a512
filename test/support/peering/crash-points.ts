/** The points in the lifecycle of a peering at which a server can be killed. `crash-peering.ts` tests them. */
import type { RecordJson } from './clusters.ts';

export type SideName = 'accepting' | 'dialing';

export const SIDES: readonly SideName[] = ['accepting', 'dialing'];

/** The operation in progress when the server is killed. */
export type CrashStep = 'establish' | 'establish again' | `${'delete' | 'report the deletion'}, ${SideName} side`;

/** When the server is killed: at a chunk since the start of the step, or when its own record reaches a state. */
export type CrashMoment =
  | { readonly chunk: number; readonly isDelivered: boolean }
  | { readonly state: RecordJson['State'] };

export interface CrashPoint {
  readonly step: CrashStep;
  readonly victim: SideName;
  readonly moment: CrashMoment;
}

/**
 * The number of chunks of each step, heartbeats included. A chunk is what one side writes at a time: a part of a
 * handshake, a request, or a few messages. Establishing has about 12 for the exchange and 10 for the first resources.
 */
const CHUNKS: Readonly<Record<CrashStep, number>> = {
  establish: 26,
  'establish again': 30,
  'delete, accepting side': 6,
  'delete, dialing side': 6,
  // The network was cut, so one or two new handshakes are included.
  'report the deletion, accepting side': 14,
  'report the deletion, dialing side': 20,
};

export const CRASH_STEPS = Object.keys(CHUNKS) as readonly CrashStep[];

/** Returns the side that deletes the peering in this step, or undefined. */
export function deletingSideIn(step: CrashStep): SideName | undefined {
  return SIDES.find((side) => step.endsWith(`${side} side`));
}

/** Returns the crash points of a step: every chunk, delivered or lost, with either side as the victim. */
export function chunkPoints(step: CrashStep): CrashPoint[] {
  const points: CrashPoint[] = [];
  for (let chunk = 1; chunk <= CHUNKS[step]; chunk += 1) {
    for (const victim of SIDES) {
      for (const isDelivered of [false, true]) points.push({ step, victim, moment: { chunk, isDelivered } });
    }
  }
  return points;
}

/** Crash points after each commit that changes the state of a record. The victim has just made the commit. */
export const RECORD_POINTS: readonly CrashPoint[] = [
  { step: 'establish', victim: 'dialing', moment: { state: 'INITIAL' } },
  { step: 'establish', victim: 'accepting', moment: { state: 'ACTIVE' } },
  { step: 'establish', victim: 'dialing', moment: { state: 'ACTIVE' } },
  { step: 'delete, accepting side', victim: 'accepting', moment: { state: 'TERMINATED' } },
  { step: 'delete, accepting side', victim: 'dialing', moment: { state: 'TERMINATED' } },
  { step: 'delete, dialing side', victim: 'dialing', moment: { state: 'TERMINATED' } },
  { step: 'delete, dialing side', victim: 'accepting', moment: { state: 'TERMINATED' } },
];

/** Crash points that failed in the past. */
export const REGRESSION_POINTS: readonly CrashPoint[] = [
  // The reader of `Terminated` dies before it reads it. The deletion was not reported again.
  { step: 'report the deletion, dialing side', victim: 'accepting', moment: { chunk: 8, isDelivered: true } },
];

export function describePoint({ step, victim, moment }: CrashPoint): string {
  const when =
    'chunk' in moment
      ? `at chunk ${moment.chunk}, which is ${moment.isDelivered ? 'delivered' : 'lost'}`
      : `when its record is ${moment.state}`;
  return `${step}: the ${victim} side is killed ${when}`;
}
