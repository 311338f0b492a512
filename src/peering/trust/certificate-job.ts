/**
 * The background job that renews the server certificate, advances a rotation, and starts one before the CA root expires
 * ([PEER-85], [PEER-86]). It runs on one server. Every write checks again that its step is due, so a second job or a
 * crash between two steps is harmless.
 */
import { SYSTEM } from '../../audit/record.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { entryTopic, rowTopic, type Topic } from '../../state/watch/change-notifier.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { acknowledgments, awaitedBundle, unacknowledgedPeerings } from './acknowledgment.ts';
import {
  AUTHORITY_KEY,
  announceRoot,
  authorities,
  authorityRow,
  type CertificateAuthority,
  nextStep,
  replaceServerCertificate,
  retireRoot,
  type Step,
  switchRoot,
} from './authority.ts';
import type { ClusterName } from './cluster-name.ts';
import { createAuthority, issueServerCertificate } from './issue-certificates.ts';
import { recordAuthorityChange } from './record-authority-change.ts';

export interface CertificateJobDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly name: ClusterName;
  readonly log: Log;
}

type Row = DeepReadonly<CertificateAuthority>;
type Action = Exclude<Step['action'], 'wait'>;
/** A transition: returns the next row, or `undefined` when it is not allowed any more. */
type Change = (row: Row, now: string) => Row | undefined;

/** Returns the job. Requires `prepareAuthority` to have run. */
export function certificateJob(dependencies: CertificateJobDependencies): Job {
  const { state, clock } = dependencies;
  return {
    name: 'certificates',
    async run(signal) {
      while (!signal.aborted) {
        const { snapshot } = state;
        const step = dueStep(snapshot, clock.now());
        if (step.action === 'wait') await waitForChange(state, clock, watchedTopics(snapshot), step.ms, signal);
        else await applyStep(step.action, dependencies, signal);
      }
    },
  };
}

const dueStep = (reader: Reader, nowMs: number): Step =>
  nextStep(authorityRow(reader), unacknowledgedPeerings(reader).length, nowMs);

/** Issues the certificates that a step needs, and commits the step if it is still due. */
async function applyStep(action: Action, dependencies: CertificateJobDependencies, signal: AbortSignal): Promise<void> {
  const { state, log } = dependencies;
  const change = await prepare(action, dependencies);
  const after = await state.write(
    (tx) => {
      const before = authorityRow(tx);
      if (dueStep(tx, tx.now).action !== action) return undefined;
      const next = change(before, new Date(tx.now).toISOString());
      if (next === undefined) return undefined;
      recordAuthorityChange(tx, SYSTEM, action, before, next);
      return tx.put(authorities, next).row;
    },
    { signal },
  );
  if (after !== undefined) log.info({ action, root: after.current.root.fingerprint }, 'certificate authority changed');
}

async function prepare(action: Action, { state, clock, secrets, name }: CertificateJobDependencies): Promise<Change> {
  const options = { name, secrets, nowMs: clock.now() };
  switch (action) {
    case 'renew': {
      const { current } = authorityRow(state.snapshot);
      const server = await issueServerCertificate(current, options);
      return (row) => replaceServerCertificate(row, current.id, server);
    }
    case 'rotate': {
      const next = await createAuthority(options);
      return (row, now) => announceRoot(row, next, now);
    }
    case 'switch':
      return switchRoot;
    case 'retire':
      return retireRoot;
  }
}

function watchedTopics(reader: Reader): Topic[] {
  const bundle = awaitedBundle(reader);
  const row = rowTopic(authorities, AUTHORITY_KEY);
  return bundle === undefined ? [row] : [row, entryTopic(acknowledgments, 'bundle', bundle)];
}

/** Resolves when one of the topics changes, or after `ms`. @throws the signal's reason */
function waitForChange(
  state: State,
  clock: Clock,
  topics: readonly Topic[],
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => (): void => {
      stopWaiting();
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = end(() => reject(signal.reason));
    const stopWaiting = state.wait(topics, end(resolve));
    const cancelTimer = clock.after(ms, end(resolve));
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
