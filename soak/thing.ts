/** One thing of a worker: what is known about it, and what was done to it last. */

import type { Seen } from './kinds/kind.ts';
import { ABSENT, afterRead, afterWrite, certain, certainValue, type Known, type Outcome } from './known.ts';
import { HISTORY_MAX } from './limits.ts';

export interface Thing {
  readonly key: string;
  readonly known: Known;
  /** What it is called in requests, where that is known. */
  readonly id: string | undefined;
  /** The highest `ModifyIndex` that was told: nothing that is read of it later is older. */
  readonly index: number;
  /** What was done and seen last, oldest first. */
  readonly history: readonly string[];
}

/** One that nobody has written yet. */
export const newThing = (key: string): Thing => ({ key, known: certain(ABSENT), id: undefined, index: 0, history: [] });

/** Its value; undefined while a lost write is not settled. */
export const currentValue = ({ known }: Thing): string | undefined => certainValue(known);

/** The values that it may have, for a report. */
export const expectedOf = ({ known, index }: Thing): string =>
  `${known.values.join(' or ')}${index === 0 ? '' : `, not older than index ${index}`}`;

/** What is known after a write. `seen`: what was written, as the answer shows it, where it does. */
export function written(
  thing: Thing,
  write: {
    readonly value: string;
    readonly outcome: Outcome;
    readonly seen?: Seen | undefined;
    readonly nowMs: number;
  },
): Thing {
  const { value, outcome, seen, nowMs } = write;
  const known = afterWrite(thing.known, value, outcome, nowMs);
  if (outcome !== 'done') return { ...thing, known };
  const id = value === ABSENT ? undefined : (seen?.id ?? thing.id);
  return { ...thing, known, id, index: Math.max(thing.index, seen?.index ?? 0) };
}

/** What is known after a read that began when no write was under way. */
export function read(thing: Thing, seen: Seen, nowMs: number): { readonly thing: Thing; readonly wrong: boolean } {
  const { known, wrong } = afterRead(thing.known, seen.value, nowMs);
  const gone = seen.value === ABSENT && certainValue(known) === ABSENT;
  const index = Math.max(thing.index, seen.index ?? 0);
  return {
    thing: { ...thing, known, id: gone ? undefined : (seen.id ?? thing.id), index },
    wrong: wrong || (seen.index !== undefined && seen.index < thing.index),
  };
}

/** With one more line of what was done. */
export const noted = (thing: Thing, line: string): Thing => ({
  ...thing,
  history: [...thing.history, line].slice(-HISTORY_MAX),
});
