/** What an operator is told when the machine's clock is set, or the machine has slept, and what stays undone for it. */
import type { Log } from '../http/telemetry/log.ts';

/** Warns of a jump of so many milliseconds; negative: back. */
export function warnOfJump(log: Log, jumpMs: number): void {
  const size = `${jumpMs < 0 ? 'back' : 'forward'} by ${Math.round(Math.abs(jumpMs) / 1000)} s`;
  const effect = 'what expires follows it, and audit entries are kept until it has been steady for an hour';
  log.warn({ jumpMs }, `the clock of this machine jumped ${size}: ${effect}`);
}

/** Warns that audit entries outlive `audit.retention`, since no server has run for long enough to remove them. */
export function warnOfHeldBack(log: Log): void {
  log.warn(
    'audit entries are kept more than a day past audit.retention: they are removed once this server has run for an hour without a restart and without its clock being set',
  );
}
