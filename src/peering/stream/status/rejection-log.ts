/**
 * What peers refuse, in the log: once for each resource until it is taken again, and so many lines in a while at most. It
 * outlives streams, after each of which everything is sent, and may be refused, again.
 */
import type { Log } from '../../../http/telemetry/log.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import type { Refusal } from '../contract.ts';
import { REFUSAL_LINES_MAX, REFUSAL_LINES_MS, REFUSED_KEYS_MAX } from '../limits.ts';
import { keyText, type ResourceKey } from '../wire/resources.ts';

/** The peering that refuses. */
export interface RefusedBy {
  readonly peeringId: string;
  /** For the log. */
  readonly name: string;
}

export interface RefusalLog {
  refused(by: RefusedBy, key: ResourceKey, refusal: Refusal): void;
  /** The peer has taken it. */
  taken(peeringId: string, key: ResourceKey): void;
  /** The peering is gone. */
  forget(peeringId: string): void;
}

/** What was said of one peering. */
interface Said {
  readonly refused: Set<string>;
  /** When the while began in which so many lines were said. */
  sinceMs: number;
  lines: number;
  unsaid: number;
}

/** Nothing was refused yet. */
export function createRefusalLog(log: Log, clock: Clock): RefusalLog {
  const byPeering = new Map<string, Said>();

  function of(peeringId: string): Said {
    const found = byPeering.get(peeringId);
    if (found !== undefined) return found;
    const said = { refused: new Set<string>(), sinceMs: clock.monotonic(), lines: 0, unsaid: 0 };
    byPeering.set(peeringId, said);
    return said;
  }

  return {
    refused({ peeringId, name: peering }, key, refusal) {
      const said = of(peeringId);
      const text = keyText(key);
      if (said.refused.has(text)) return;
      if (said.refused.size === REFUSED_KEYS_MAX) said.refused.clear();
      said.refused.add(text);
      const now = clock.monotonic();
      if (now - said.sinceMs >= REFUSAL_LINES_MS) Object.assign(said, { sinceMs: now, lines: 0 });
      if (said.lines === REFUSAL_LINES_MAX) {
        said.unsaid += 1;
        return;
      }
      const { unsaid } = said;
      log.warn({ peering, ...key, ...refusal, ...(unsaid > 0 && { unsaid }) }, 'the peer has refused a resource');
      said.lines += 1;
      said.unsaid = 0;
    },
    taken: (peeringId, key) => void byPeering.get(peeringId)?.refused.delete(keyText(key)),
    forget: (peeringId) => void byPeering.delete(peeringId),
  };
}
