/** The background jobs of the server that are not specific to peering. */
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
import { removeFromTrail } from '../team-access/audit/trail.ts';
import { rowExpiryJob } from '../team-access/team-workspaces/write-row.ts';
import { tokenExpiryJob } from '../team-access/tokens/change-token.ts';
import { unclaimedUsersJob } from '../team-access/users/remove-unclaimed-users.ts';
import { logOverdueAuditEntries } from './clock-jump.ts';

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
    unclaimedUsersJob(state, clock),
    auditRetentionJob(state, {
      clock,
      steadyMs: clockWatch.steadyMs,
      retentionMs: config.audit.retention,
      onRemoved: removeFromTrail,
      onOverdue: () => logOverdueAuditEntries(log),
    }),
  ];
}
