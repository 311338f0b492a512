/** Where in the life of a peering a server can be killed. What must be so when it is back: `crash-peering.ts`. */
import type { ShownRecord } from './clusters.ts';

export type SideName = 'accepting' | 'dialing';

export const SIDES: readonly SideName[] = ['accepting', 'dialing'];

/** What is being done when it happens. */
export type Step = 'establish' | 'establish again' | `${'delete' | 'tell of a deletion'}, ${SideName} side`;

/** When it happens: at the n-th piece of the conversation since the step began, or when the victim's own record has changed. */
export type Moment = { readonly piece: number; readonly passed: boolean } | { readonly state: ShownRecord['State'] };

export interface CrashPoint {
  readonly step: Step;
  readonly victim: SideName;
  readonly moment: Moment;
}

/**
 * How many pieces the conversation of a step has, heartbeats included. A piece is what a side has written at a time:
 * handshakes, a request, a few messages. Establishing has some 12 for the exchange, and 10 until all is said.
 */
const PIECES: Readonly<Record<Step, number>> = {
  establish: 26,
  'establish again': 30,
  'delete, accepting side': 6,
  'delete, dialing side': 6,
  // The network was cut, so there is a new handshake; and another one where the first was not enough.
  'tell of a deletion, accepting side': 14,
  'tell of a deletion, dialing side': 20,
};

export const STEPS = Object.keys(PIECES) as readonly Step[];

/** The side on which the peering is deleted in this step; undefined: on neither. */
export function deleterIn(step: Step): SideName | undefined {
  return SIDES.find((side) => step.endsWith(`${side} side`));
}

/** Every piece of a step, lost or passed on, and either side killed with it. */
export function piecePoints(step: Step): CrashPoint[] {
  const points: CrashPoint[] = [];
  for (let piece = 1; piece <= PIECES[step]; piece += 1) {
    for (const victim of SIDES) {
      for (const passed of [false, true]) points.push({ step, victim, moment: { piece, passed } });
    }
  }
  return points;
}

/** Every commit that shows in a record, and the side killed that has just made it. */
export const RECORD_POINTS: readonly CrashPoint[] = [
  { step: 'establish', victim: 'dialing', moment: { state: 'INITIAL' } },
  { step: 'establish', victim: 'accepting', moment: { state: 'ACTIVE' } },
  { step: 'establish', victim: 'dialing', moment: { state: 'ACTIVE' } },
  { step: 'delete, accepting side', victim: 'accepting', moment: { state: 'TERMINATED' } },
  { step: 'delete, accepting side', victim: 'dialing', moment: { state: 'TERMINATED' } },
  { step: 'delete, dialing side', victim: 'dialing', moment: { state: 'TERMINATED' } },
  { step: 'delete, dialing side', victim: 'accepting', moment: { state: 'TERMINATED' } },
];

/** Points at which it went wrong once, whatever else is drawn. */
export const FOUND_POINTS: readonly CrashPoint[] = [
  // The Terminated is written, and who should read it dies: it was never told again.
  { step: 'tell of a deletion, dialing side', victim: 'accepting', moment: { piece: 8, passed: true } },
];

export function describePoint({ step, victim, moment }: CrashPoint): string {
  const when =
    'piece' in moment
      ? `at piece ${moment.piece} of the conversation, which ${moment.passed ? 'arrives' : 'is lost'}`
      : `when its record is ${moment.state}`;
  return `${step}: the ${victim} side is killed ${when}`;
}
