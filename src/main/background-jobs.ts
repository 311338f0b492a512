/** The background jobs of the server that are not specific to peering, and the warnings about its clock. */
import { recordChange, SYSTEM } from '../audit/record.ts';
import { auditRetentionJob } from '../audit/retention.ts';
import type { Config } from '../config.ts';
import { aclTokens } from '../credentials/acl-token.ts';
import { recordTokenChange } from '../credentials/change-token.ts';
import { userTokens } from '../credentials/user.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { ClockJumpDetector } from '../state/clock/clock-jump-detector.ts';
import { expiryJob } from '../state/jobs/expiry.ts';
import type { Job } from '../state/jobs/placement.ts';
import type { State } from '../state/state.ts';
import { removeFromTrail } from '../team-access/audit.ts';
import { rowExpiryJob } from '../team-access/team-workspaces/change-team-workspace.ts';
import { tokenExpiryJob } from '../team-access/tokens/change-token.ts';
import { unclaimedUsersJob } from '../team-access/users/remove-unclaimed-users.ts';

export interface JobParts {
  readonly state: State;
  readonly clock: Clock;
  readonly clockWatch: ClockJumpDetector;
  readonly config: Config;
  readonly log: Log;
}

/** Returns the jobs. Each runs on the one server that job placement chooses. */
export function backgroundJobs({ state, clock, clockWatch, config, log }: JobParts): Job[] {
  return [
    expiryJob(state, aclTokens, clock, (tx, stored) => recordTokenChange(tx, SYSTEM, 'expire', stored, undefined)),
    expiryJob(state, userTokens, clock, (tx, { row }) =>
      recordChange(tx, SYSTEM, {
        action: 'expire',
        type: 'user-token',
        subject: row.id,
        partition: 'default',
        before: { id: row.id, user: row.userId },
        after: null,
      }),
    ),
    rowExpiryJob(state, clock),
    tokenExpiryJob(state, clock),
    unclaimedUsersJob(state, clock, config.teamAccess.invitations),
    auditRetentionJob(state, {
      clock,
      steadyMs: clockWatch.steadyMs,
      retentionMs: config.audit.retention,
      onRemoved: removeFromTrail,
      onOverdue: () => logOverdueAuditEntries(log),
    }),
  ];
}

/** Logs a jump of the wall clock. @param jumpMs negative for a jump back */
export function logClockJump(log: Log, jumpMs: number): void {
  const effect = 'expiry follows the new time; audit entries are kept until the clock has been steady for an hour';
  log.warn({ jumpMs, effect }, 'wall clock jumped');
}

/** Logs that audit entries are more than a day past `audit.retention`. */
function logOverdueAuditEntries(log: Log): void {
  const remedy = 'keep this server running for an hour without a restart and without setting its clock';
  log.warn({ remedy }, 'audit entries are past audit.retention');
}
