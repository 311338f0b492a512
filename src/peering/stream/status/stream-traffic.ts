/** What the streams of each peering have carried since this server started, for metrics. */
import type { MessageKind } from '../contract.ts';

/** Counts only grow. */
export interface PeeringTraffic {
  messagesIn: number;
  messagesOut: number;
  bytesIn: number;
  bytesOut: number;
  /** Resources that the peer refused, and that we refused. */
  refusedByPeer: number;
  refusedHere: number;
  /** Streams that were opened; all but the first are reconnects. */
  opened: number;
  /** From sending a resource to its acknowledgement, applying included; milliseconds, the latest one. */
  roundTripMs: number | undefined;
}

export interface StreamTraffic {
  readonly byPeering: ReadonlyMap<string, Readonly<PeeringTraffic>>;
  received(peeringId: string, kind: MessageKind, bytes: number): void;
  sent(peeringId: string, kind: MessageKind, bytes: number): void;
  opened(peeringId: string): void;
  acknowledged(peeringId: string, afterMs: number): void;
  /** At the end of a session: how many resources were refused on it. */
  refused(peeringId: string, byPeer: number, here: number): void;
  /** The peering is gone. */
  forget(peeringId: string): void;
}

/** Nothing counted yet. */
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
      of(peeringId).roundTripMs = afterMs;
    },
    refused(peeringId, byPeer, here) {
      const traffic = of(peeringId);
      traffic.refusedByPeer += byPeer;
      traffic.refusedHere += here;
    },
    forget: (peeringId) => void byPeering.delete(peeringId),
  };
}
