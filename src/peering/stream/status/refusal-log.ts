/**
 * Logs the resources that peers refuse: once per resource until the peer acknowledges it, and at a limited rate per
 * peering. It is shared by successive streams, because a new stream sends, and the peer may refuse, everything again.
 */
import type { Log } from '../../../http/telemetry/log.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import type { Refusal } from '../contract.ts';
import { LOGGED_REFUSALS_MAX, REFUSAL_LOG_INTERVAL_MS, REFUSAL_LOG_LINES_MAX } from '../limits.ts';
import { keyText, type ResourceKey } from '../wire/resources.ts';

export interface RefusedBy {
  readonly peeringId: string;
  readonly name: string;
}

export interface RefusalLog {
  refused(by: RefusedBy, key: ResourceKey, refusal: Refusal): void;
  acknowledged(peeringId: string, key: ResourceKey): void;
  /** Frees the entry of a removed peering. */
  forget(peeringId: string): void;
}

interface PeeringRefusals {
  readonly refused: Set<string>;
  /** Start of the current interval, monotonic. */
  sinceMs: number;
  lines: number;
  /** Refusals not logged because of the rate. The next line contains their number. */
  unsaid: number;
}

export function createRefusalLog(log: Log, clock: Clock): RefusalLog {
  const byPeering = new Map<string, PeeringRefusals>();

  function of(peeringId: string): PeeringRefusals {
    const found = byPeering.get(peeringId);
    if (found !== undefined) return found;
    const entry = { refused: new Set<string>(), sinceMs: clock.monotonic(), lines: 0, unsaid: 0 };
    byPeering.set(peeringId, entry);
    return entry;
  }

  return {
    refused({ peeringId, name: peering }, key, refusal) {
      const entry = of(peeringId);
      const text = keyText(key);
      if (entry.refused.has(text)) return;
      if (entry.refused.size === LOGGED_REFUSALS_MAX) entry.refused.clear();
      entry.refused.add(text);
      const now = clock.monotonic();
      if (now - entry.sinceMs >= REFUSAL_LOG_INTERVAL_MS) Object.assign(entry, { sinceMs: now, lines: 0 });
      if (entry.lines === REFUSAL_LOG_LINES_MAX) {
        entry.unsaid += 1;
        return;
      }
      const { unsaid } = entry;
      log.warn({ peering, ...key, ...refusal, ...(unsaid > 0 && { unsaid }) }, 'resource refused by the peer');
      entry.lines += 1;
      entry.unsaid = 0;
    },
    acknowledged: (peeringId, key) => void byPeering.get(peeringId)?.refused.delete(keyText(key)),
    forget: (peeringId) => void byPeering.delete(peeringId),
  };
}
