/** Checks whether a peering record is consistent with the state of the links. Pure. */
import { ACTIVE_MS, LAST_RECEIVE_MS, SETTLED_MS } from './limits.ts';

/** The checked fields of a peering record in the API. */
export interface PeeringRecord {
  readonly State: string;
  readonly StreamStatus: { readonly LastReceive?: string };
}

/** The known state of the links. Times are wall-clock milliseconds since 1970. */
export interface LinkStatus {
  readonly nowMs: number;
  /** The time at which traffic between the clusters stopped; undefined while traffic is possible. */
  readonly cutSinceMs: number | undefined;
  /** The time at which both sides had recovered from the last fault; undefined before that and during a fault. */
  readonly calmSinceMs: number | undefined;
}

/** Returns what the record should contain, or undefined if it is consistent. */
export function checkPeeringRecord({ State, StreamStatus }: PeeringRecord, status: LinkStatus): string | undefined {
  if (State === 'TERMINATED') return 'not TERMINATED: neither cluster has deleted the peering';
  if (State !== 'ACTIVE') return undefined;
  const { nowMs, cutSinceMs, calmSinceMs } = status;
  if (cutSinceMs !== undefined && nowMs - cutSinceMs > ACTIVE_MS) {
    return `not ACTIVE: no traffic between the clusters for ${nowMs - cutSinceMs} ms`;
  }
  if (calmSinceMs === undefined || nowMs - calmSinceMs < SETTLED_MS || StreamStatus.LastReceive === undefined) {
    return undefined;
  }
  const ageMs = nowMs - Date.parse(StreamStatus.LastReceive);
  return ageMs > LAST_RECEIVE_MS ? `not ACTIVE, or a newer LastReceive: it is ${ageMs} ms old` : undefined;
}
