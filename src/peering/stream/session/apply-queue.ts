/**
 * Responses between being read and being answered. The order promised by `IncomingResources` is kept here: of one resource
 * in order, a list alone; what a newer response overtakes is never applied, and its nonce is answered with the newer one's.
 */

import { APPLYING_MAX, UNAPPLIED_BYTES_MAX, UNAPPLIED_OVERHEAD_BYTES } from '../limits.ts';
import type { ReceivedResponse } from '../wire/messages.ts';
import { keyText, type ResourceKey } from '../wire/resources.ts';
import { createKeyQueue, type KeyQueue } from './key-queue.ts';

/** One application of a resource. */
export interface Application {
  readonly key: ResourceKey;
  readonly url: string;
  readonly content: Uint8Array;
  /** What is answered when it is done: its own nonce last, those that it overtook before. */
  readonly nonces: string[];
  readonly bytes: number;
}

export interface ApplyQueue {
  readonly waiting: KeyQueue<Application>;
  /** By the text of their keys. */
  readonly applying: Map<string, Application>;
  /** Of everything waiting and being applied. */
  bytes: number;
  /** A list of this stream was applied. */
  listApplied: boolean;
  /** When something was last finished, or begun after nothing was under way. */
  progressAt: number;
}

export const createApplyQueue = (): ApplyQueue => ({
  waiting: createKeyQueue(),
  applying: new Map(),
  bytes: 0,
  listApplied: false,
  progressAt: 0,
});

/** True while the queue holds so much that reading pauses. */
export const isFull = (queue: ApplyQueue): boolean => queue.bytes >= UNAPPLIED_BYTES_MAX;

/** Puts a response at the end; one of the same resource that waits is overtaken by it. */
export function enqueue(queue: ApplyQueue, { key, url, content, nonce }: ReceivedResponse): void {
  const text = keyText(key);
  const overtaken = queue.waiting.get(text);
  const nonces = overtaken?.nonces ?? [];
  nonces.push(nonce);
  const bytes = content.length + text.length + nonces.length * UNAPPLIED_OVERHEAD_BYTES;
  queue.bytes += bytes - (overtaken?.bytes ?? 0);
  queue.waiting.put(text, { key, url, content, nonces, bytes });
}

/** The next response whose application may begin; it counts as begun. */
export function beginNext(queue: ApplyQueue, at: number): Application | undefined {
  const next = queue.waiting.peek();
  if (next === undefined || !mayBegin(queue, next.key)) return undefined;
  queue.waiting.take();
  if (queue.applying.size === 0) queue.progressAt = at;
  queue.applying.set(keyText(next.key), next);
  return next;
}

function mayBegin({ applying }: ApplyQueue, key: ResourceKey): boolean {
  if (applying.size === 0) return true;
  if (key.kind === 'list' || applying.size >= APPLYING_MAX) return false;
  for (const { key: other } of applying.values()) if (other.kind === 'list') return false;
  return !applying.has(keyText(key));
}

/** Ends an application; the result is what is to be answered. */
export function finish(queue: ApplyQueue, key: ResourceKey, applied: boolean, at: number): Application {
  const text = keyText(key);
  const done = queue.applying.get(text);
  if (done === undefined) throw new RangeError(`nothing of ${text} is being applied`);
  queue.applying.delete(text);
  queue.bytes -= done.bytes;
  queue.progressAt = at;
  if (applied && key.kind === 'list') queue.listApplied = true;
  return done;
}

/** Forgets everything: the session ends. */
export function discard(queue: ApplyQueue): void {
  queue.waiting.clear();
  queue.applying.clear();
  queue.bytes = 0;
}
