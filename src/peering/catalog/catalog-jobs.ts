/** The background jobs of the catalog. Each runs on one live server. */
import type { Clock } from '../../state/clock/clock.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { State } from '../../state/state.ts';
import { dueChecksJob } from './agent/due-checks.ts';
import { lostNodesJob } from './agent/lost-nodes.ts';

export const catalogJobs = (state: State, clock: Clock): readonly Job[] => [
  dueChecksJob(state, clock),
  lostNodesJob(state, clock),
];
