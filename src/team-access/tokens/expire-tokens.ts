/** Removes tokens of teams and organizations that have expired; they were good for nobody from that moment on. */
import { SYSTEM } from '../../audit/record.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { expiryJob } from '../../state/jobs/expiry.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { State } from '../../state/state.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { recordToken } from './change-token.ts';

/** The job for all of them. */
export const expireTokensJob = (state: State, clock: Clock): Job =>
  expiryJob(state, apiTokens, clock, (tx, { row: token }) =>
    recordToken({ tx, origin: SYSTEM }, { token, before: true, action: 'expire' }),
  );
