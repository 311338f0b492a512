/**
 * Writes on behalf of one stream. Each looks first whether the stream still is the one that counts: of two streams for one
 * peering, what the older one brings late changes nothing.
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import { isStateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { BACKOFF_MS_MIN } from '../../limits.ts';
import { type CurrentStream, isCurrent, type Peering, peerings } from '../../record/record.ts';
import { SessionSuperseded } from '../contract.ts';

/** The record of a peering while the stream counts. */
export type CurrentRow = DeepReadonly<Peering> & { readonly stream: CurrentStream };

export interface FencedWrites {
  /**
   * Resolves when the change is durable. A store that is away or has no room is asked again: what is not applied and not
   * refused either would be missing until the peer changes it. Past the session's time-out the stream ends by itself.
   * @throws SessionSuperseded, StateError, what `change` throws
   */
  write<T>(signal: AbortSignal, change: (tx: Transaction, row: CurrentRow) => T): Promise<T>;
  /** Resolves when the stream is known to count, for who finds that there is nothing to write. @throws SessionSuperseded */
  current(): Promise<CurrentRow>;
}

/** @param epoch rejects when the stream never became the one that counts: what comes before waits for it */
export function fencedWrites(
  { state, clock }: { readonly state: State; readonly clock: Clock },
  peeringId: string,
  epoch: Promise<number>,
): FencedWrites {
  return {
    async write(signal, change) {
      const mine = await epoch;
      for (;;) {
        try {
          return await state.write(
            (tx) => {
              const row = tx.get(peerings, peeringId)?.row;
              if (!isCurrent(row, mine)) throw new SessionSuperseded();
              return change(tx, row);
            },
            { signal },
          );
        } catch (error) {
          if (signal.aborted || !isStateError(error, 'unavailable', 'outcome-unknown', 'overloaded', 'full'))
            throw error;
          await sleep(clock, BACKOFF_MS_MIN, signal);
        }
      }
    },
    async current() {
      const mine = await epoch;
      const row = state.snapshot.get(peerings, peeringId)?.row;
      if (!isCurrent(row, mine)) throw new SessionSuperseded();
      return row;
    },
  };
}
