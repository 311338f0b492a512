/**
 * The responses that were received and not acknowledged yet. Responses for one resource are applied in order, and no
 * other resource is applied at the same time as a list [STREAM-51]. A newer response replaces a pending one for the
 * same resource, and the nonces of both are acknowledged together [STREAM-52].
 */

import { PARALLEL_APPLIES_MAX, UNAPPLIED_BYTES_MAX, UNAPPLIED_OVERHEAD_BYTES } from '../limits.ts';
import type { ReceivedResponse } from '../wire/messages.ts';
import { keyText, type ResourceKey } from '../wire/resources.ts';
import { createKeyQueue, type KeyQueue } from './key-queue.ts';

export interface ApplyTask {
  readonly key: ResourceKey;
  readonly url: string;
  readonly content: Uint8Array;
  /** The nonces to acknowledge when it is done: those of the responses it replaced, then its own. */
  readonly nonces: string[];
  readonly bytes: number;
}

export interface ApplyQueue {
  readonly pending: KeyQueue<ApplyTask>;
  /** By `keyText`. */
  readonly inProgress: Map<string, ApplyTask>;
  /** The size of all tasks, pending and in progress. */
  bytes: number;
  /** Whether a list of this stream was applied. */
  listApplied: boolean;
  /** When a task last finished, or started while none was in progress. */
  lastProgressAt: number;
}

export const createApplyQueue = (): ApplyQueue => ({
  pending: createKeyQueue(),
  inProgress: new Map(),
  bytes: 0,
  listApplied: false,
  lastProgressAt: 0,
});

/** Whether reading must pause, because the queue has reached UNAPPLIED_BYTES_MAX. */
export const isFull = (queue: ApplyQueue): boolean => queue.bytes >= UNAPPLIED_BYTES_MAX;

/** Adds a response at the end. It replaces a pending response for the same resource. */
export function enqueue(queue: ApplyQueue, { key, url, content, nonce }: ReceivedResponse): void {
  const text = keyText(key);
  const replaced = queue.pending.get(text);
  const nonces = replaced?.nonces ?? [];
  nonces.push(nonce);
  const bytes = content.length + text.length + nonces.length * UNAPPLIED_OVERHEAD_BYTES;
  queue.bytes += bytes - (replaced?.bytes ?? 0);
  queue.pending.put(text, { key, url, content, nonces, bytes });
}

/** Moves the first task to `inProgress`. @returns undefined if the queue is empty, or if the first task must wait */
export function startNext(queue: ApplyQueue, at: number): ApplyTask | undefined {
  const next = queue.pending.peek();
  if (next === undefined || !canStart(queue, next.key)) return undefined;
  queue.pending.take();
  if (queue.inProgress.size === 0) queue.lastProgressAt = at;
  queue.inProgress.set(keyText(next.key), next);
  return next;
}

function canStart({ inProgress }: ApplyQueue, key: ResourceKey): boolean {
  if (inProgress.size === 0) return true;
  if (key.kind === 'list' || inProgress.size >= PARALLEL_APPLIES_MAX) return false;
  for (const { key: other } of inProgress.values()) if (other.kind === 'list') return false;
  return !inProgress.has(keyText(key));
}

/** Removes a task from `inProgress`. @returns the task, whose nonces are to be acknowledged */
export function finishApply(queue: ApplyQueue, key: ResourceKey, applied: boolean, at: number): ApplyTask {
  const text = keyText(key);
  const task = queue.inProgress.get(text);
  if (task === undefined) throw new RangeError(`finishApply was called for ${text}, which is not in progress`);
  queue.inProgress.delete(text);
  queue.bytes -= task.bytes;
  queue.lastProgressAt = at;
  if (applied && key.kind === 'list') queue.listApplied = true;
  return task;
}

export function clearApplyQueue(queue: ApplyQueue): void {
  queue.pending.clear();
  queue.inProgress.clear();
  queue.bytes = 0;
}
