/**
 * The model of one resource that a single worker writes: the values it may have after the writes and reads so far.
 * Pure.
 *
 * An acknowledged write has taken effect, and a rejected write has changed nothing. A write whose response was lost may
 * take effect at any time before LATE_WRITE_MS, because a frozen server continues with the request when it resumes.
 * Until a read settles such a write, the worker reads the resource and does not write it.
 */
import { LATE_WRITE_MS } from './limits.ts';

/** The value of a resource that does not exist. */
export const ABSENT = 'absent';

/** The effect of a request, as far as the client can know it. */
export type Outcome =
  /** The server acknowledged the request. */
  | 'done'
  /** The server rejected the request. Nothing has changed. */
  | 'rejected'
  /** No server accepted the request, or the server answered that it was unavailable. Nothing has changed. */
  | 'unavailable'
  /** The request may or may not have taken effect. */
  | 'unknown';

/** The possible states of one resource. */
export interface Model {
  /** Every value that the resource may have. Never empty. */
  readonly values: readonly string[];
  /** A write with an unknown outcome that may still take effect before `untilMs` of the client's monotonic clock. */
  readonly unsettled?: { readonly value: string; readonly untilMs: number };
}

export const certain = (value: string): Model => ({ values: [value] });

/** Returns the value of the resource, or undefined if several are possible. */
export const certainValue = ({ values }: Model): string | undefined => (values.length === 1 ? values[0] : undefined);

/** Returns the model after a write of `value` has ended. */
export function afterWrite(model: Model, value: string, outcome: Outcome, nowMs: number): Model {
  if (outcome === 'done') return certain(value);
  if (outcome !== 'unknown') return model;
  return { values: [...new Set([...model.values, value])], unsettled: { value, untilMs: nowMs + LATE_WRITE_MS } };
}

/** The result of comparing a read with the model. */
export interface ReadCheck {
  /** The new model. It adopts a wrong value, so that one fault is reported once. */
  readonly model: Model;
  /** Whether the model does not allow the value. */
  readonly isWrong: boolean;
}

/** Compares `value` with the model. The read must have started after every write ended. */
export function afterRead(model: Model, value: string, nowMs: number): ReadCheck {
  const { values, unsettled } = model;
  if (!values.includes(value)) return { model: certain(value), isWrong: true };
  const mayChange = unsettled !== undefined && unsettled.value !== value && nowMs < unsettled.untilMs;
  return { model: mayChange ? { values: [value, unsettled.value], unsettled } : certain(value), isWrong: false };
}
