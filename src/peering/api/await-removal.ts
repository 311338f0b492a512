/** A name is free again when the peering that had it is removed with all its data; calls that need the name wait a while. */
import { ServiceError } from '../../http/errors.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import { rowTopic } from '../../state/watch/change-notifier.ts';
import { REMOVAL_WAIT_MS } from '../limits.ts';
import { peerings } from '../record/record.ts';

/** What an attempt gives that found the name taken by a peering which is being removed. */
export class BeingRemoved {
  readonly peeringId: string;

  constructor(peeringId: string) {
    this.peeringId = peeringId;
  }
}

export interface RemovalWait {
  readonly state: State;
  readonly clock: Clock;
  /** The name as the caller gave it. */
  readonly name: string;
  /** Ends the waiting: nobody needs the answer any more. */
  readonly signal: AbortSignal;
}

/**
 * Does `attempt`, and again after the removal that stood in its way.
 * @throws ServiceError `conflict` when the name is not free after REMOVAL_WAIT_MS; the signal's reason; what `attempt` throws
 */
export async function afterRemoval<T>(wait: RemovalWait, attempt: () => Promise<T | BeingRemoved>): Promise<T> {
  const deadlineMs = wait.clock.monotonic() + REMOVAL_WAIT_MS;
  for (;;) {
    const result = await attempt();
    if (!(result instanceof BeingRemoved)) return result;
    const restMs = deadlineMs - wait.clock.monotonic();
    if (restMs <= 0 || !(await isRemoved(wait, result.peeringId, restMs))) throw beingDeleted(wait.name);
  }
}

/** The refusal where a name is not free yet. */
export function beingDeleted(name: string): ServiceError {
  return new ServiceError('conflict', `peering "${name}" is being deleted`);
}

/** Whether the record is gone within the time. @throws the signal's reason */
async function isRemoved({ state, clock, signal }: RemovalWait, peeringId: string, restMs: number): Promise<boolean> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let forget = (): void => undefined;
  const look = (): void => {
    if (state.snapshot.get(peerings, peeringId) === undefined) resolve(true);
    else forget = state.wait([rowTopic(peerings, peeringId)], look);
  };
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const cancelTimer = clock.after(restMs, () => resolve(false));
  look();
  try {
    return await promise;
  } finally {
    forget();
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}
