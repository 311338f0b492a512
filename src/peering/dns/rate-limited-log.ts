/** A log that clients cannot flood: one line per message and interval, with the number of suppressed ones. */
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { LOG_INTERVAL_MS } from './limits.ts';

export interface RateLimitedLog {
  /** @param message a fixed phrase, because messages are counted separately */
  warn(error: unknown, message: string): void;
}

export function createRateLimitedLog(log: Log, clock: Clock): RateLimitedLog {
  const lines = new Map<string, { at: number; unsaid: number }>();
  return {
    warn(error, message) {
      const now = clock.monotonic();
      const line = lines.get(message);
      if (line !== undefined && now - line.at < LOG_INTERVAL_MS) {
        line.unsaid += 1;
        return;
      }
      log.warn({ error, ...(line !== undefined && line.unsaid > 0 && { unsaid: line.unsaid }) }, message);
      lines.set(message, { at: now, unsaid: 0 });
    },
  };
}
