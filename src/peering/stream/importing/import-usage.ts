/** How much one peer has brought, and how much it may: a peer that exports without end must not fill the state here. */
import { Code } from '@connectrpc/connect';
import type { DeepReadonly } from '../../../state/table.ts';
import type { ImportedService } from '../../catalog/tables/imported-service.ts';
import { IMPORTED_BYTES_MAX, IMPORTED_INSTANCES_MAX, IMPORTED_SERVICES_MAX } from '../../limits.ts';
import { ApplyRefused } from '../contract.ts';

/** What counts. */
export interface Amount {
  readonly services: number;
  readonly instances: number;
  readonly bytes: number;
}

/** What one peer may bring. */
export const IMPORTS_MAX: Amount = {
  services: IMPORTED_SERVICES_MAX,
  instances: IMPORTED_INSTANCES_MAX,
  bytes: IMPORTED_BYTES_MAX,
};

export interface ImportTally {
  /**
   * Counts one service from now on as `after` instead of as `before`. What makes nothing larger is never refused.
   * @returns counts it as `before` again, for who could not write it
   * @throws ApplyRefused with the name of the limit that it would exceed
   */
  replace(before: Amount, after: Amount): () => void;
}

/** What a service counts for; undefined: there is none. */
export const amountOf = (row: DeepReadonly<Pick<ImportedService, 'instances' | 'bytes'>> | undefined): Amount =>
  row === undefined
    ? { services: 0, instances: 0, bytes: 0 }
    : { services: 1, instances: row.instances.length, bytes: row.bytes };

/** Begins with everything that is there. */
export function createImportTally(rows: readonly DeepReadonly<ImportedService>[], most: Amount): ImportTally {
  const used = { services: 0, instances: 0, bytes: 0 };
  const add = (amount: Amount, sign: 1 | -1): void => {
    for (const what of COUNTED) used[what] += sign * amount[what];
  };
  for (const row of rows) add(amountOf(row), 1);
  return {
    replace(before, after) {
      for (const what of COUNTED) {
        const wanted = used[what] + after[what] - before[what];
        if (after[what] > before[what] && wanted > most[what]) throw refusal(what, most[what], wanted);
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

const COUNTED = ['services', 'instances', 'bytes'] as const;

function refusal(what: keyof Amount, most: number, wanted: number): ApplyRefused {
  const text = `limit imported-${what}: at most ${most} ${what} are taken from a peer, and with this service they were ${wanted}`;
  return new ApplyRefused(Code.ResourceExhausted, text);
}
