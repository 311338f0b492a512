/** Counters of each peering's streams since the start of this server, for metrics. */
import type { MessageKind } from '../contract.ts';

/** The counters of one peering. They only increase, except `roundTripMs`. */
export interface PeeringTraffic {
  messagesIn: number;
  messagesOut: number;
  bytesIn: number;
  bytesOut: number;
  refusedByPeer: number;
  refusedHere: number;
  /** Streams opened. All but the first are reconnects. */
  opened: number;
  /** The latest time from sending a resource to its acknowledgment. It includes the application by the peer. */
  roundTripMs: number | undefined;
}

/**
 * `received`, `sent` and `opened` begin the counters of a peering. stream-times.ts notices the removal of a peering that
 * has sent or received a message, and then `forget` ends them. The other methods can be called later, by a stream that
 * ends, so they do nothing for an unknown peering.
 */
export interface StreamTraffic {
  readonly byPeering: ReadonlyMap<string, Readonly<PeeringTraffic>>;
  received(peeringId: string, kind: MessageKind, bytes: number): void;
  sent(peeringId: string, kind: MessageKind, bytes: number): void;
  opened(peeringId: string): void;
  acknowledged(peeringId: string, afterMs: number): void;
  /** Adds the refused resources of an ended session. */
  refused(peeringId: string, byPeer: number, here: number): void;
  /** Frees the counters of a removed peering. */
  forget(peeringId: string): void;
}

export function createStreamTraffic(): StreamTraffic {
  const byPeering = new Map<string, PeeringTraffic>();
  const of = (peeringId: string): PeeringTraffic => {
    let traffic = byPeering.get(peeringId);
    if (traffic === undefined) {
      traffic = {
        messagesIn: 0,
        messagesOut: 0,
        bytesIn: 0,
        bytesOut: 0,
        refusedByPeer: 0,
        refusedHere: 0,
        opened: 0,
        roundTripMs: undefined,
      };
      byPeering.set(peeringId, traffic);
    }
    return traffic;
  };
  return {
    byPeering,
    received(peeringId, _kind, bytes) {
      const traffic = of(peeringId);
      traffic.messagesIn += 1;
      traffic.bytesIn += bytes;
    },
    sent(peeringId, _kind, bytes) {
      const traffic = of(peeringId);
      traffic.messagesOut += 1;
      traffic.bytesOut += bytes;
    },
    opened(peeringId) {
      of(peeringId).opened += 1;
    },
    acknowledged(peeringId, afterMs) {
      const traffic = byPeering.get(peeringId);
      if (traffic !== undefined) traffic.roundTripMs = afterMs;
    },
    refused(peeringId, byPeer, here) {
      const traffic = byPeering.get(peeringId);
      if (traffic === undefined) return;
      traffic.refusedByPeer += byPeer;
      traffic.refusedHere += here;
    },
    forget: (peeringId) => void byPeering.delete(peeringId),
  };
}
