/** Log messages about jumps of the wall clock and about the audit entries that are kept because of them. */
import type { Log } from '../http/telemetry/log.ts';

/** Logs a jump of the wall clock. @param jumpMs negative for a jump back */
export function logClockJump(log: Log, jumpMs: number): void {
  const effect = 'expiry follows the new time; audit entries are kept until the clock has been steady for an hour';
  log.warn({ jumpMs, effect }, 'wall clock jumped');
}

/** Logs that audit entries are more than a day past `audit.retention`. */
export function logOverdueAuditEntries(log: Log): void {
  const remedy = 'keep this server running for an hour without a restart and without setting its clock';
  log.warn({ remedy }, 'audit entries are past audit.retention');
}
