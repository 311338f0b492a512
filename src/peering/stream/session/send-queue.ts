/**
 * What is to be sent, in the order of its urgency: what the conversation itself needs, answers, contents. Of a content only
 * the resource's key waits; what it is then is read when the transport can take it, so a slow reader costs no memory.
 */

import type { SessionLimit } from '../contract.ts';
import { ANSWERS_WAITING_MAX, CHANGES_WAITING_MAX, UNACKNOWLEDGED_MAX } from '../limits.ts';
import type { ReplicationMessage } from '../wire/gen/peering/peerstream_pb.ts';
import { type Answer, answerMessage, heartbeatMessage } from '../wire/messages.ts';
import { keyText, type ResourceKey, type ResourceKind } from '../wire/resources.ts';
import { createKeyQueue, type KeyQueue } from './key-queue.ts';

/** A response that the peer has not answered. */
interface Unacknowledged {
  readonly key: ResourceKey;
  readonly sentAt: number;
}

export interface SendQueue {
  /** Open and subscriptions: as many as there are kinds, and one. */
  readonly control: ReplicationMessage[];
  heartbeat: boolean;
  readonly answers: KeyQueue<Answer>;
  /** What has changed since it was last sent. */
  readonly changed: KeyQueue<ResourceKey>;
  /** By nonce. */
  readonly unacknowledged: Map<string, Unacknowledged>;
  /** What the peer has subscribed to. */
  readonly subscribed: Set<ResourceKind>;
  nonces: number;
  answersEver: number;
  /** When the peer last answered something, or was last sent something while nothing was unanswered. */
  answeredAt: number;
}

/** What goes out next: a message, or a resource that is read now. */
export type Outgoing =
  | { readonly type: 'send'; readonly message: ReplicationMessage }
  | { readonly type: 'send-resource'; readonly key: ResourceKey; readonly nonce: string };

export const createSendQueue = (): SendQueue => ({
  control: [],
  heartbeat: false,
  answers: createKeyQueue(),
  changed: createKeyQueue(),
  unacknowledged: new Map(),
  subscribed: new Set(),
  nonces: 0,
  answersEver: 0,
  answeredAt: 0,
});

/** An answer to a response. The result is the limit that it exceeds. */
export function addAnswer(queue: SendQueue, answer: Answer): SessionLimit | undefined {
  if (queue.answers.size >= ANSWERS_WAITING_MAX) return 'acknowledgements-waiting';
  queue.answersEver += 1;
  queue.answers.add(String(queue.answersEver), answer);
  return undefined;
}

/** A resource that has changed; of no account while the peer has not subscribed to its kind. */
export function addChanged(queue: SendQueue, key: ResourceKey): SessionLimit | undefined {
  if (!queue.subscribed.has(key.kind)) return undefined;
  if (queue.changed.size >= CHANGES_WAITING_MAX) return 'changes-waiting';
  queue.changed.add(keyText(key), key);
  return undefined;
}

/** True while contents wait for the peer to answer earlier ones. */
export const isHeldBack = (queue: SendQueue): boolean =>
  queue.changed.size > 0 && queue.unacknowledged.size >= UNACKNOWLEDGED_MAX;

/** Takes what goes out next. */
export function takeNext(queue: SendQueue, peerId: string, at: number): Outgoing | undefined {
  const control = queue.control.shift();
  if (control !== undefined) return { type: 'send', message: control };
  if (queue.heartbeat) {
    queue.heartbeat = false;
    return { type: 'send', message: heartbeatMessage() };
  }
  const answer = queue.answers.take();
  if (answer !== undefined) return { type: 'send', message: answerMessage(peerId, answer) };
  if (isHeldBack(queue)) return undefined;
  const key = queue.changed.take();
  if (key === undefined) return undefined;
  queue.nonces += 1;
  const nonce = queue.nonces.toString(16).padStart(8, '0');
  if (queue.unacknowledged.size === 0) queue.answeredAt = at;
  queue.unacknowledged.set(nonce, { key, sentAt: at });
  return { type: 'send-resource', key, nonce };
}

/** The peer has answered `nonce`; `undefined` when that is no response that it owes an answer for. */
export function settle(queue: SendQueue, nonce: string, at: number): Unacknowledged | undefined {
  const sent = queue.unacknowledged.get(nonce);
  if (sent === undefined) return undefined;
  queue.unacknowledged.delete(nonce);
  queue.answeredAt = at;
  return sent;
}

/** Forgets everything: the session ends. */
export function discard(queue: SendQueue): void {
  queue.control.length = 0;
  queue.heartbeat = false;
  queue.answers.clear();
  queue.changed.clear();
  queue.unacknowledged.clear();
}
