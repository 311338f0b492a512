/**
 * Writes on behalf of one stream. Each write compares the stream's epoch with the record in its transaction, so that a
 * late write of a replaced stream changes nothing ([PEER-76]).
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import { isStateError, type StateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { BACKOFF_MS_MIN } from '../../limits.ts';
import { type CurrentStream, isCurrent, type Peering, peerings } from '../../record/record.ts';
import { SessionSuperseded } from '../contract.ts';

/** The record of a peering whose current stream is this one. */
export type CurrentRow = DeepReadonly<Peering> & { readonly stream: CurrentStream };

export interface FencedWrites {
  /**
   * Resolves when the change is durable. Retries while the store is unavailable or full ([STREAM-55]) and while the peer exceeds its rate, because the peer
   * sends a resource only once. The session's apply timeout limits the retries.
   * @throws SessionSuperseded, StateError, what `change` throws
   */
  write<T>(signal: AbortSignal, change: (tx: Transaction, row: CurrentRow) => T): Promise<T>;
  /** Returns the record if the stream is current, for a caller without changes. @throws SessionSuperseded */
  current(): Promise<CurrentRow>;
}

/** A peer above its rate waits, which stops the stream until the peer may write again. */
const RETRIED = ['unavailable', 'outcome-unknown', 'overloaded', 'full', 'rate-limited'] as const;

const waitMs = ({ retryAfterSeconds = 1 }: StateError): number => retryAfterSeconds * 1_000;

/** @param epoch the stream's epoch. Writes wait for it. It rejects when the stream never becomes current. */
export function fencedWrites(
  { state, clock }: { readonly state: State; readonly clock: Clock },
  peeringId: string,
  epoch: Promise<number>,
): FencedWrites {
  return {
    async write(signal, change) {
      const ownEpoch = await epoch;
      for (;;) {
        try {
          return await state.write(
            (tx) => {
              const row = tx.get(peerings, peeringId)?.row;
              if (!isCurrent(row, ownEpoch)) throw new SessionSuperseded();
              return change(tx, row);
            },
            { signal, caller: { key: `peer/${peeringId}`, isOperator: false } },
          );
        } catch (error) {
          if (signal.aborted || !isStateError(error, ...RETRIED)) throw error;
          await sleep(clock, error.code === 'rate-limited' ? waitMs(error) : BACKOFF_MS_MIN, signal);
        }
      }
    },
    async current() {
      const ownEpoch = await epoch;
      const row = state.snapshot.get(peerings, peeringId)?.row;
      if (!isCurrent(row, ownEpoch)) throw new SessionSuperseded();
      return row;
    },
  };
}
