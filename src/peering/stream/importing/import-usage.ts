/** The usage and the limits of imports from one peer ([SVC-83]), so that a peer cannot fill the state. */
import { Code } from '@connectrpc/connect';
import type { DeepReadonly } from '../../../state/table.ts';
import type { ImportedService } from '../../catalog/tables/imported-service.ts';
import { IMPORTED_BYTES_MAX, IMPORTED_INSTANCES_MAX, IMPORTED_SERVICES_MAX } from '../../limits.ts';
import { ApplyRefused } from '../contract.ts';

/** A quantity of imports. `bytes` counts instances as JSON. */
export interface Amount {
  readonly services: number;
  readonly instances: number;
  readonly bytes: number;
}

export const IMPORTS_MAX: Amount = {
  services: IMPORTED_SERVICES_MAX,
  instances: IMPORTED_INSTANCES_MAX,
  bytes: IMPORTED_BYTES_MAX,
};

export interface ImportUsage {
  /**
   * Counts one service as `after` instead of `before`. Never rejects a change that increases nothing.
   * @returns a function that undoes the change, for a write that failed
   * @throws ApplyRefused with the name of the exceeded limit
   */
  replace(before: Amount, after: Amount): () => void;
  readonly used: Amount;
}

/** Returns the quantity of one service, or zero for `undefined`. */
export const amountFor = (row: DeepReadonly<Pick<ImportedService, 'instances' | 'bytes'>> | undefined): Amount =>
  row === undefined
    ? { services: 0, instances: 0, bytes: 0 }
    : { services: 1, instances: row.instances.length, bytes: row.bytes };

/** @param rows the imported services of the peer @param most the limits */
export function createImportUsage(rows: readonly DeepReadonly<ImportedService>[], most: Amount): ImportUsage {
  const used = { services: 0, instances: 0, bytes: 0 };
  const add = (amount: Amount, sign: 1 | -1): void => {
    for (const quantity of QUANTITIES) used[quantity] += sign * amount[quantity];
  };
  for (const row of rows) add(amountFor(row), 1);
  return {
    get used() {
      return { ...used };
    },
    replace(before, after) {
      for (const quantity of QUANTITIES) {
        const total = used[quantity] + after[quantity] - before[quantity];
        if (after[quantity] > before[quantity] && total > most[quantity])
          throw limitRefusal(quantity, most[quantity], total);
      }
      add(before, -1);
      add(after, 1);
      return () => {
        add(after, -1);
        add(before, 1);
      };
    },
  };
}

const QUANTITIES = ['services', 'instances', 'bytes'] as const;

/** The text is that of [STREAM-66]. */
function limitRefusal(quantity: keyof Amount, most: number, total: number): ApplyRefused {
  const text = `limit imported-${quantity}: at most ${most} ${quantity} are accepted from a peer, and this service would raise the total to ${total}`;
  return new ApplyRefused(Code.ResourceExhausted, text);
}
