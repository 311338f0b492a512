/** A log that strangers cannot fill: one line for each message in a while, with how often it came meanwhile. */
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { LOG_LINE_MS } from './limits.ts';

export interface QuietLog {
  /** @param message one of few: each is counted on its own */
  warn(error: unknown, message: string): void;
}

/** None said yet. */
export function createQuietLog(log: Log, clock: Clock): QuietLog {
  const lines = new Map<string, { at: number; unsaid: number }>();
  return {
    warn(error, message) {
      const now = clock.monotonic();
      const line = lines.get(message);
      if (line !== undefined && now - line.at < LOG_LINE_MS) {
        line.unsaid += 1;
        return;
      }
      log.warn({ error, ...(line !== undefined && line.unsaid > 0 && { unsaid: line.unsaid }) }, message);
      lines.set(message, { at: now, unsaid: 0 });
    },
  };
}
