/** The delivery of single services on a stream. Only the server that holds the stream knows it ([SVC-95]). */
import type { Refusal } from '../contract.ts';
import type { ExportDigest } from '../wire/gen/peering/digest_pb.ts';

/** The status of the current version of an exported service. */
export type DeliveryStatus =
  | { readonly kind: 'unsent' }
  /** It exceeds the size of a message. */
  | { readonly kind: 'too-large'; readonly bytes: number }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'acknowledged' };

/** The last applied version of an imported service. */
export interface AppliedService {
  /** SHA-256 of the `ExportedService`, base64url. */
  readonly contentHash: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Position in the order of received resources. A digest with a lower one does not cover this version. */
  readonly order: number;
}

export interface ReceivedDigest {
  readonly digest: ExportDigest;
  readonly atMs: number;
  readonly order: number;
}

export interface OutgoingDelivery {
  deliveryStatus(service: string): DeliveryStatus;
}

export interface IncomingDelivery {
  /** Returns `undefined` when no version of the service was applied on this stream. */
  applied(service: string): AppliedService | undefined;
  /** The `order` of the last applied list. */
  readonly listOrder: number | undefined;
  digest(): ReceivedDigest | undefined;
}

export interface StreamDelivery extends OutgoingDelivery {
  /** The version in `accord-version`. `undefined` for a Consul cluster. */
  readonly peerVersion: string | undefined;
  readonly incoming: IncomingDelivery;
}

export const streamDelivery = (
  peerVersion: string | undefined,
  outgoing: OutgoingDelivery,
  { delivery: incoming }: { readonly delivery: IncomingDelivery },
): StreamDelivery => ({ peerVersion, deliveryStatus: outgoing.deliveryStatus, incoming });
