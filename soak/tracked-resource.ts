/** A resource of one worker with its model and its recent history. Pure. */

import type { Observation } from './kinds/resource-kind.ts';
import { HISTORY_MAX } from './limits.ts';
import { ABSENT, afterRead, afterWrite, certain, certainValue, type Model, type Outcome } from './model.ts';

export interface TrackedResource {
  readonly key: string;
  readonly model: Model;
  /** The server-generated ID, if the kind has one and the worker knows it. */
  readonly id: string | undefined;
  /** The highest `ModifyIndex` observed. A later read with a lower one is a violation. */
  readonly index: number;
  /** The last HISTORY_MAX requests about it, oldest first. */
  readonly history: readonly string[];
}

export const newTrackedResource = (key: string): TrackedResource => ({
  key,
  model: certain(ABSENT),
  id: undefined,
  index: 0,
  history: [],
});

/** Returns the value, or undefined while the outcome of a write is unsettled. */
export const currentValue = ({ model }: TrackedResource): string | undefined => certainValue(model);

/** Describes the allowed values for a report. */
export const describeExpected = ({ model, index }: TrackedResource): string =>
  `${model.values.join(' or ')}${index === 0 ? '' : `, at index ${index} or later`}`;

/** Returns the resource after a write. `observed` is the resource in the response, if the response contains it. */
export function recordWrite(
  resource: TrackedResource,
  write: {
    readonly value: string;
    readonly outcome: Outcome;
    readonly observed?: Observation | undefined;
    readonly nowMs: number;
  },
): TrackedResource {
  const { value, outcome, observed, nowMs } = write;
  const model = afterWrite(resource.model, value, outcome, nowMs);
  if (outcome !== 'done') return { ...resource, model };
  const id = value === ABSENT ? undefined : (observed?.id ?? resource.id);
  return { ...resource, model, id, index: Math.max(resource.index, observed?.index ?? 0) };
}

/** Returns the resource after a read that started while no write was in flight, and whether the read is a violation. */
export function recordRead(
  resource: TrackedResource,
  observed: Observation,
  nowMs: number,
): { readonly resource: TrackedResource; readonly isWrong: boolean } {
  const { model, isWrong } = afterRead(resource.model, observed.value, nowMs);
  const isDeleted = observed.value === ABSENT && certainValue(model) === ABSENT;
  const index = Math.max(resource.index, observed.index ?? 0);
  return {
    resource: { ...resource, model, id: isDeleted ? undefined : (observed.id ?? resource.id), index },
    isWrong: isWrong || (observed.index !== undefined && observed.index < resource.index),
  };
}

export const appendHistory = (resource: TrackedResource, line: string): TrackedResource => ({
  ...resource,
  history: [...resource.history, line].slice(-HISTORY_MAX),
});
