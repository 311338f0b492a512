/**
 * What may be true of one thing that one worker alone writes, from what its writer was told. Pure.
 *
 * A write that was answered is true from then on; one that was refused changes nothing; one whose answer was lost may be
 * true, and may even become true later: a server that was frozen goes on with what it had read. Until a lost write is
 * settled its thing is read, and not written.
 */
import { LATE_WRITE_MS } from './limits.ts';

/** The value of a thing that is not there. */
export const ABSENT = 'absent';

/** What a client may conclude from an answer, or from none. */
export type Outcome =
  /** Done, or answered. */
  | 'done'
  /** The server said why not: nothing has changed. */
  | 'refused'
  /** Nobody took it, or the server could not: nothing has changed. */
  | 'unavailable'
  /** Nobody knows. */
  | 'unknown';

/** What is known about a thing. */
export interface Known {
  /** Every value that it may have, at least one. */
  readonly values: readonly string[];
  /** A lost write that may still be done until then, by the client's monotonic clock. */
  readonly late?: { readonly value: string; readonly untilMs: number };
}

/** A thing that has this value for certain. */
export const certain = (value: string): Known => ({ values: [value] });

/** Its value; undefined while there are several. */
export const certainValue = ({ values }: Known): string | undefined => (values.length === 1 ? values[0] : undefined);

/** What is known once a write of `value` has ended. */
export function afterWrite(known: Known, value: string, outcome: Outcome, nowMs: number): Known {
  if (outcome === 'done') return certain(value);
  if (outcome !== 'unknown') return known;
  return { values: [...new Set([...known.values, value])], late: { value, untilMs: nowMs + LATE_WRITE_MS } };
}

/** A read, held against what is known. */
export interface Compared {
  readonly known: Known;
  /** The value cannot be. What was found is believed from then on, so that one fault is told once. */
  readonly wrong: boolean;
}

/** What is known once a read that began after every write has ended has found `value`. */
export function afterRead(known: Known, value: string, nowMs: number): Compared {
  const { values, late } = known;
  if (!values.includes(value)) return { known: certain(value), wrong: true };
  const mayChange = late !== undefined && late.value !== value && nowMs < late.untilMs;
  return { known: mayChange ? { values: [value, late.value], late } : certain(value), wrong: false };
}
