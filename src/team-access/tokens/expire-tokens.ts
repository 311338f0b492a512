/** Removes tokens of teams and organizations that have expired; they were good for nobody from that moment on. */
import { SYSTEM } from '../../audit/record.ts';
import type { Clock } from '../../state/clock.ts';
import { expiryJob } from '../../state/expiry.ts';
import type { Job } from '../../state/jobs.ts';
import type { State } from '../../state/state.ts';
import { recordToken } from './change-token.ts';
import { apiTokens } from './token.ts';

/** The job for all of them. */
export const expireTokensJob = (state: State, clock: Clock): Job =>
  expiryJob(state, apiTokens, clock, (tx, { row: token }) =>
    recordToken({ tx, origin: SYSTEM }, { token, before: true, action: 'expire' }),
  );
