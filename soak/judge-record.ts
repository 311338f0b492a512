/** Whether what a peering's record says can be true. Pure. */
import { ACTIVE_MS, LAST_RECEIVE_MS, SETTLED_MS } from './limits.ts';

/** A record as the API shows it; what is looked at. */
export interface LookedAt {
  readonly State: string;
  readonly StreamStatus: { readonly LastReceive?: string };
}

/** What is known about the link. Times are of the wall clock, milliseconds since 1970. */
export interface LinkFacts {
  readonly atMs: number;
  /** Since when nothing could pass between the two clusters; undefined: something can. */
  readonly cutSinceMs: number | undefined;
  /** When both ends were back after the last fault; undefined before that, and while one is under way. */
  readonly calmSinceMs: number | undefined;
}

/** What the record should say instead; undefined: nothing is wrong with it. */
export function judgeRecord({ State, StreamStatus }: LookedAt, facts: LinkFacts): string | undefined {
  if (State === 'TERMINATED') return 'not TERMINATED: neither cluster has deleted it';
  if (State !== 'ACTIVE') return undefined;
  const { atMs, cutSinceMs, calmSinceMs } = facts;
  if (cutSinceMs !== undefined && atMs - cutSinceMs > ACTIVE_MS) {
    return `not ACTIVE: nothing has passed between the clusters for ${atMs - cutSinceMs} ms`;
  }
  if (calmSinceMs === undefined || atMs - calmSinceMs < SETTLED_MS || StreamStatus.LastReceive === undefined) {
    return undefined;
  }
  const silentMs = atMs - Date.parse(StreamStatus.LastReceive);
  return silentMs > LAST_RECEIVE_MS ? `not ACTIVE, or a LastReceive that is not ${silentMs} ms old` : undefined;
}
