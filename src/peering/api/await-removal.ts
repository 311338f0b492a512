/** Waiting for the removal of a deleted peering whose name a request needs ([PEER-37]). */
import { ServiceError } from '../../http/errors.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import { rowTopic } from '../../state/watch/change-notifier.ts';
import { REMOVAL_WAIT_MS_MAX } from '../limits.ts';
import { peerings } from '../record/record.ts';

/** The result of an attempt that found the name taken by a deleted peering. */
export class BeingRemoved {
  readonly peeringId: string;

  constructor(peeringId: string) {
    this.peeringId = peeringId;
  }
}

export interface RemovalWait {
  readonly state: State;
  readonly clock: Clock;
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * Runs `attempt`, and repeats it after each removal that blocked it.
 * @throws ServiceError `conflict` when the name is not free after REMOVAL_WAIT_MS_MAX; the signal's reason; any error
 *   of `attempt`
 */
export async function retryAfterRemoval<T>(wait: RemovalWait, attempt: () => Promise<T | BeingRemoved>): Promise<T> {
  const deadlineMs = wait.clock.monotonic() + REMOVAL_WAIT_MS_MAX;
  for (;;) {
    const result = await attempt();
    if (!(result instanceof BeingRemoved)) return result;
    const remainingMs = deadlineMs - wait.clock.monotonic();
    if (remainingMs <= 0 || !(await awaitRemoval(wait, result.peeringId, remainingMs)))
      throw beingDeletedError(wait.name);
  }
}

export function beingDeletedError(name: string): ServiceError {
  return new ServiceError('conflict', `peering "${name}" is being deleted`);
}

/** Waits until the record is removed. Resolves to false after `waitMs`. @throws the signal's reason */
async function awaitRemoval(
  { state, clock, signal }: RemovalWait,
  peeringId: string,
  waitMs: number,
): Promise<boolean> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let cancelWait = (): void => undefined;
  const check = (): void => {
    if (state.snapshot.get(peerings, peeringId) === undefined) resolve(true);
    else cancelWait = state.wait([rowTopic(peerings, peeringId)], check);
  };
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const cancelTimer = clock.after(waitMs, () => resolve(false));
  check();
  try {
    return await promise;
  } finally {
    cancelWait();
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}
