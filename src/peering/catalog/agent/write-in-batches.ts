/** Writes of as many rows as the store takes in one commit. */
import { isStateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { DUE_BATCH_ROWS } from '../limits.ts';

/**
 * Runs `change` with a number of things to see to, again with half of it where that is more than the store takes.
 * @throws StateError
 */
export async function writeBatch(
  state: Pick<State, 'write'>,
  change: (tx: Transaction, countMax: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let countMax = DUE_BATCH_ROWS; ; countMax = Math.ceil(countMax / 2)) {
    try {
      await state.write((tx) => change(tx, countMax), signal && { signal });
      return;
    } catch (error) {
      if (!isStateError(error, 'too-large') || countMax === 1) throw error;
    }
  }
}
