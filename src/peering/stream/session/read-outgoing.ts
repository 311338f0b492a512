/** Reads a resource at the moment it can go out, and makes the response that carries it. */
import { MESSAGE_BYTES_MAX } from '../../limits.ts';
import type { OutgoingResources } from '../contract.ts';
import type { ReplicationMessage } from '../wire/gen/peering/peerstream_pb.ts';
import { encodeResource, messageBytes, responseMessage } from '../wire/messages.ts';
import type { ResourceKey } from '../wire/resources.ts';

/**
 * The message to send; `undefined` when there is none: the resource is gone and has no empty form, is what the peer has, is
 * larger than the wire allows (its owner is told), or cannot be read (`failed` is told).
 */
export function outgoingMessage(
  outgoing: OutgoingResources,
  { key, nonce }: { readonly key: ResourceKey; readonly nonce: string },
  failed: (error: unknown) => void,
): ReplicationMessage | undefined {
  try {
    const content = encodeResource(key, outgoing.read(key));
    if (content === undefined) return undefined;
    const message = responseMessage(key, nonce, content);
    const bytes = messageBytes(message);
    if (bytes <= MESSAGE_BYTES_MAX) return message;
    outgoing.tooLarge(key, bytes);
  } catch (error) {
    failed(error);
  }
  return undefined;
}
