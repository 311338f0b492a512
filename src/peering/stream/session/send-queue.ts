/**
 * The messages that wait to be sent, by priority [STREAM-46]: control messages, the heartbeat, acknowledgments,
 * resources. A waiting resource is only a key. Its content is read when the transport asks for it, so a slow peer uses
 * little memory.
 */

import type { SessionLimit } from '../contract.ts';
import { PENDING_ACK_BYTES_MAX, PENDING_ACKS_MAX, PENDING_CHANGES_MAX, UNACKNOWLEDGED_MAX } from '../limits.ts';
import type { ReplicationMessage } from '../wire/gen/peering/peerstream_pb.ts';
import { type Ack, ackMessage, heartbeatMessage } from '../wire/messages.ts';
import { keyText, type ResourceKey, type ResourceKind } from '../wire/resources.ts';
import { createKeyQueue, type KeyQueue } from './key-queue.ts';

/** A response that the peer has not acknowledged. */
interface Unacknowledged {
  readonly key: ResourceKey;
  readonly sentAt: number;
}

export interface SendQueue {
  /** Open and subscriptions: at most one more than there are kinds. */
  readonly control: ReplicationMessage[];
  heartbeatDue: boolean;
  readonly acks: KeyQueue<Ack>;
  /** The characters in the URLs and reasons of `acks`, which the peer chooses. */
  ackBytes: number;
  /** The resources that have changed since they were last sent. */
  readonly changed: KeyQueue<ResourceKey>;
  /** By nonce. */
  readonly unacknowledged: Map<string, Unacknowledged>;
  readonly peerSubscriptions: Set<ResourceKind>;
  lastNonce: number;
  /** The number of acks ever queued, which makes their keys in `acks` unique. */
  lastAckNumber: number;
  /** The time of the peer's last acknowledgment, or of the first response sent while none was unacknowledged. */
  lastAckAt: number;
}

/** A message to send, or a resource to be read and sent. */
export type SendEffect =
  | { readonly type: 'send'; readonly message: ReplicationMessage }
  | { readonly type: 'send-resource'; readonly key: ResourceKey; readonly nonce: string };

export const createSendQueue = (): SendQueue => ({
  control: [],
  heartbeatDue: false,
  acks: createKeyQueue(),
  ackBytes: 0,
  changed: createKeyQueue(),
  unacknowledged: new Map(),
  peerSubscriptions: new Set(),
  lastNonce: 0,
  lastAckNumber: 0,
  lastAckAt: 0,
});

/** Queues an ACK or NACK. @returns the limit that is exceeded, if any */
export function addAck(queue: SendQueue, ack: Ack): SessionLimit | undefined {
  if (queue.acks.size >= PENDING_ACKS_MAX || queue.ackBytes >= PENDING_ACK_BYTES_MAX) return 'acknowledgements-waiting';
  queue.ackBytes += foreignBytes(ack);
  queue.lastAckNumber += 1;
  queue.acks.add(String(queue.lastAckNumber), ack);
  return undefined;
}

/** Counts an ACK without a reason as nothing, because its URL is one of ours. */
const foreignBytes = ({ url, refusal }: Ack): number =>
  refusal === undefined ? 0 : url.length + refusal.message.length;

/** Queues a changed resource if the peer has subscribed to its kind. @returns the limit that is exceeded, if any */
export function addChanged(queue: SendQueue, key: ResourceKey): SessionLimit | undefined {
  if (!queue.peerSubscriptions.has(key.kind)) return undefined;
  if (queue.changed.size >= PENDING_CHANGES_MAX) return 'changes-waiting';
  queue.changed.add(keyText(key), key);
  return undefined;
}

/** Whether resources wait because the peer has too many responses to acknowledge. */
export const isAwaitingAcks = (queue: SendQueue): boolean =>
  queue.changed.size > 0 && queue.unacknowledged.size >= UNACKNOWLEDGED_MAX;

/** Removes and returns the next message to send. A resource gets a nonce and counts as unacknowledged. */
export function takeNext(queue: SendQueue, peerId: string, at: number): SendEffect | undefined {
  const control = queue.control.shift();
  if (control !== undefined) return { type: 'send', message: control };
  if (queue.heartbeatDue) {
    queue.heartbeatDue = false;
    return { type: 'send', message: heartbeatMessage() };
  }
  const ack = queue.acks.take();
  if (ack !== undefined) {
    queue.ackBytes -= foreignBytes(ack);
    return { type: 'send', message: ackMessage(peerId, ack) };
  }
  if (isAwaitingAcks(queue)) return undefined;
  const key = queue.changed.take();
  if (key === undefined) return undefined;
  queue.lastNonce += 1;
  const nonce = queue.lastNonce.toString(16).padStart(8, '0');
  if (queue.unacknowledged.size === 0) queue.lastAckAt = at;
  queue.unacknowledged.set(nonce, { key, sentAt: at });
  return { type: 'send-resource', key, nonce };
}

/** Removes and returns the response that the peer acknowledges. Undefined if the nonce matches none. */
export function takeUnacknowledged(queue: SendQueue, nonce: string, at: number): Unacknowledged | undefined {
  const sent = queue.unacknowledged.get(nonce);
  if (sent === undefined) return undefined;
  queue.unacknowledged.delete(nonce);
  queue.lastAckAt = at;
  return sent;
}

export function clearSendQueue(queue: SendQueue): void {
  queue.control.length = 0;
  queue.heartbeatDue = false;
  queue.acks.clear();
  queue.ackBytes = 0;
  queue.changed.clear();
  queue.unacknowledged.clear();
}
