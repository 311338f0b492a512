/** Writes with as many rows as the store accepts in one commit. */
import { isStateError } from '../../../state/errors.ts';
import { JOB_BATCH_ROWS } from '../../../state/limits.ts';
import type { State } from '../../../state/state.ts';
import type { Transaction } from '../../../state/write/transaction.ts';

/** Runs `change` with the maximum number of rows, halved after each `too-large`. @throws StateError */
export async function writeBatch(
  state: Pick<State, 'write'>,
  change: (tx: Transaction, countMax: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let countMax = JOB_BATCH_ROWS; ; countMax = Math.ceil(countMax / 2)) {
    try {
      await state.write((tx) => change(tx, countMax), signal && { signal });
      return;
    } catch (error) {
      if (!isStateError(error, 'too-large') || countMax === 1) throw error;
    }
  }
}
