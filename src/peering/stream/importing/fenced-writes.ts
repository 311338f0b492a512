/**
 * Writes on behalf of one stream. Each write compares the stream's epoch with the record in its transaction, so that a
 * late write of a replaced stream changes nothing ([PEER-76]).
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import { isStateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { WriteCaller } from '../../../state/write/admission.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { BACKOFF_MS_MIN, IMPORT_WRITE_BYTES } from '../../limits.ts';
import { type CurrentStream, isCurrent, type Peering, peerings } from '../../record/record.ts';
import { SessionSuperseded } from '../contract.ts';
import type { ImportBudget } from './import-budgets.ts';

/** The record of a peering whose current stream is this one. */
export type CurrentRow = DeepReadonly<Peering> & { readonly stream: CurrentStream };

export interface FencedWrites {
  /**
   * Waits for the peer's write budget ([STREAM-96]) and resolves when the change is durable. Retries while the store is
   * unavailable or full ([STREAM-55]), because the peer sends a resource only once. The session's apply timeout limits
   * the retries.
   * @param bytes the size of the rows that `change` writes, as JSON
   * @throws SessionSuperseded, StateError, what `change` throws
   */
  write<T>(bytes: number, signal: AbortSignal, change: (tx: Transaction, row: CurrentRow) => T): Promise<T>;
  /** Returns the record if the stream is current, for a caller without changes. @throws SessionSuperseded */
  current(): Promise<CurrentRow>;
}

/** Peers must leave the reserve of the state to operators. The import budget limits their bytes. */
const PEER: WriteCaller = { rateKey: undefined, isOperator: false };

/** @param epoch the stream's epoch. Writes wait for it. It rejects when the stream never becomes current. */
export function fencedWrites(
  { state, clock, budget }: { readonly state: State; readonly clock: Clock; readonly budget: ImportBudget },
  peeringId: string,
  epoch: Promise<number>,
): FencedWrites {
  return {
    async write(bytes, signal, change) {
      const ownEpoch = await epoch;
      await budget.spend(IMPORT_WRITE_BYTES + bytes, signal);
      for (;;) {
        try {
          return await state.write(
            (tx) => {
              const row = tx.get(peerings, peeringId)?.row;
              if (!isCurrent(row, ownEpoch)) throw new SessionSuperseded();
              return change(tx, row);
            },
            { signal, caller: PEER },
          );
        } catch (error) {
          if (signal.aborted || !isStateError(error, 'unavailable', 'outcome-unknown', 'overloaded', 'full'))
            throw error;
          await sleep(clock, BACKOFF_MS_MIN, signal);
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
