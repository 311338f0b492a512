/**
 * Renews the server certificate, moves a rotation on, and begins one before the root expires. It runs on one server;
 * what it does it does in guarded writes that look again, so a second one, or a crash between two steps, does no harm.
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
import { acknowledgements, awaitedBundle, unacknowledged } from './acknowledgement.ts';
import {
  AUTHORITY_KEY,
  announced,
  authorities,
  authorityOf,
  type CertificateAuthority,
  nextStep,
  retired,
  type Step,
  serverRenewed,
  switched,
} from './authority.ts';
import { makeAuthority, makeServerCertificate } from './make-certificates.ts';
import type { ClusterName } from './names.ts';
import { recordAuthority } from './record-authority.ts';

export interface CertificateJobParts {
  readonly state: State;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly name: ClusterName;
  readonly log: Log;
}

type Row = DeepReadonly<CertificateAuthority>;
type Action = Exclude<Step['action'], 'wait'>;
/** The next row; undefined: there is nothing to change any more. */
type Change = (row: Row, now: string) => Row | undefined;

/** The job; add it once the identity is open. */
export function certificateJob(parts: CertificateJobParts): Job {
  const { state, clock } = parts;
  return {
    name: 'certificates',
    async run(signal) {
      while (!signal.aborted) {
        const { snapshot } = state;
        const step = dueStep(snapshot, clock.now());
        if (step.action === 'wait') await changeWithin(state, clock, topics(snapshot), step.ms, signal);
        else await take(step.action, parts, signal);
      }
    },
  };
}

const dueStep = (reader: Reader, nowMs: number): Step =>
  nextStep(authorityOf(reader), unacknowledged(reader).length, nowMs);

/** Makes what the step needs, then takes it if it is still due. */
async function take(action: Action, parts: CertificateJobParts, signal: AbortSignal): Promise<void> {
  const { state, log } = parts;
  const change = await prepare(action, parts);
  const after = await state.write(
    (tx) => {
      const before = authorityOf(tx);
      if (dueStep(tx, tx.now).action !== action) return undefined;
      const next = change(before, new Date(tx.now).toISOString());
      if (next === undefined) return undefined;
      recordAuthority(tx, SYSTEM, action, before, next);
      return tx.put(authorities, next).row;
    },
    { signal },
  );
  if (after !== undefined) log.info({ action, root: after.current.root.fingerprint }, 'certificate authority');
}

async function prepare(action: Action, { state, clock, secrets, name }: CertificateJobParts): Promise<Change> {
  const options = { name, secrets, nowMs: clock.now() };
  switch (action) {
    case 'renew': {
      const { current } = authorityOf(state.snapshot);
      const server = await makeServerCertificate(current, options);
      return (row) => serverRenewed(row, current.id, server);
    }
    case 'rotate': {
      const next = await makeAuthority(options);
      return (row, now) => announced(row, next, now);
    }
    case 'switch':
      return switched;
    case 'retire':
      return retired;
  }
}

function topics(reader: Reader): Topic[] {
  const bundle = awaitedBundle(reader);
  const row = rowTopic(authorities, AUTHORITY_KEY);
  return bundle === undefined ? [row] : [row, entryTopic(acknowledgements, 'bundle', bundle)];
}

/** Resolves when one of the topics changes or the time is over. @throws the signal's reason */
function changeWithin(
  state: State,
  clock: Clock,
  changing: readonly Topic[],
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => (): void => {
      forget();
      cancel();
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = end(() => reject(signal.reason));
    const forget = state.wait(changing, end(resolve));
    const cancel = clock.after(ms, end(resolve));
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
