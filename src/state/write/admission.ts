/**
 * Decides whether a write may add rows and bytes: the row limit with its reserve, the row quotas, and the byte rate of
 * its caller [STATE-115] [STATE-116] [STATE-117].
 *
 * The server's own writes have no caller, and no quota or rate applies to them. Operators have a caller, but they must be
 * able to act when others have used up a quota or the state, so only the row limit itself applies to them.
 */
import type { Measured } from '../../budget/measured.ts';
import type { Rate } from '../../budget/rate.ts';
import type { StoreSpace } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import { GROWTH_RESERVE_SHARE, OPERATION_BYTES, RESERVE_SHARE } from '../limits.ts';
import type { MemoryCapacity } from '../memory/memory-capacity.ts';
import type { RowCounts } from '../memory/row-counts.ts';
import type { AnyTable, Stored } from '../table.ts';
import type { CountChange } from './batch-changes.ts';

/** On whose behalf a write is made. */
export interface WriteCaller {
  /** The key of the byte rate: the person or token, with its kind, such as `user/user-1`. Undefined: no byte rate. */
  readonly rateKey: string | undefined;
  /** Whether the caller may use the reserve, and is exempt from quotas and from the byte rate. */
  readonly isOperator: boolean;
}

/** A limit on the rows that count toward each row of a table. */
export interface RowQuota {
  /** The table of the holders. */
  readonly table: AnyTable;
  readonly rowsMax: number;
  /** The kind of a holder, in errors and metrics, such as `organization`. */
  readonly kind: string;
  /** The setting of the limit, in errors, such as `limits.rows-per-organization`. */
  readonly setting: string;
  /** Returns the name of a holder, for errors and metrics. */
  readonly nameOf: (row: Stored<unknown>['row']) => string;
  /** Whether the quota does not apply to a holder. */
  readonly isExempt?: (row: Stored<unknown>['row']) => boolean;
}

export interface AdmissionOptions {
  readonly rowsMax: number;
  readonly rowsMaxReason: string;
  readonly memory: MemoryCapacity;
  readonly quotas: readonly RowQuota[];
  /** Bytes by caller. Absent: no limit. */
  readonly writeRate?: Rate | undefined;
}

/** An amount of the state as it is after a write, and the part that the write adds; negative if it removes more. */
interface Growth {
  readonly total: number;
  readonly added: number;
}

/** The changes that one run of a write would make. */
export interface WriteEffect {
  readonly caller: WriteCaller | undefined;
  readonly isRemoval: boolean;
  /** Rows in memory. */
  readonly rows: Growth;
  /** The estimated memory of these rows. */
  readonly bytes: Growth;
  readonly countChanges: () => Iterable<CountChange>;
  readonly find: (table: AnyTable, key: string) => Stored<unknown> | undefined;
}

export interface Admission extends Measured {
  /** Sets the room in the store; undefined if the store does not tell. */
  setSpace(space: StoreSpace | undefined): void;
  /** The room in the store; undefined if the store does not tell. */
  readonly space: StoreSpace | undefined;
  /** Returns the error of a write that would add more than its caller may. */
  refuse(effect: WriteEffect): StateError | undefined;
  /** Takes bytes from the caller's rate. @returns the error if they are not available; then nothing was taken */
  takeBytes(caller: WriteCaller | undefined, bytes: number): StateError | undefined;
  /** Returns the holders that use at least `share` of their quota, without those that are exempt from it. */
  crowdedHolders(share: number): Iterable<{ readonly kind: string; readonly name: string; readonly rows: number }>;
}

/** @param current returns the committed rows, for metrics */
export function createAdmission(
  { rowsMax, rowsMaxReason, memory, quotas, writeRate }: AdmissionOptions,
  current: () => {
    readonly rowCount: number;
    readonly rowCounts: RowCounts;
    readonly tables: ReadonlyMap<AnyTable, { readonly rows: { get(key: string): Stored<unknown> | undefined } }>;
  },
): Admission {
  let space: StoreSpace | undefined;
  const reserve = Math.floor(rowsMax * RESERVE_SHARE);
  const byTable = Map.groupBy(quotas, ({ table }) => table);
  const refused = new Map<string, number>(
    ['total', 'store', ...quotas.map(({ kind }) => kind)].map((bound) => [bound, 0]),
  );
  const countRefusal = (bound: string): void => void refused.set(bound, (refused.get(bound) ?? 0) + 1);

  /** Keeps room in the store for removals, because a store without any refuses them, too. */
  function refuseBySpace(effect: WriteEffect): StateError | undefined {
    const { caller } = effect;
    if (space === undefined || caller === undefined || removes(effect)) return undefined;
    if (space.freeBytes >= (caller.isOperator ? space.removalBytes : space.reserveBytes)) return undefined;
    countRefusal('store');
    return new StateError(
      'full',
      `${space.reason}; what is left is for ${caller.isOperator ? '' : 'operators and '}removals`,
    );
  }

  function refuseByTotal({ caller, isRemoval, rows, bytes }: WriteEffect): StateError | undefined {
    const isOrdinary = caller !== undefined && !caller.isOperator && !isRemoval;
    const text =
      (rows.added > 0 ? rowsRefusal(rows, isOrdinary) : undefined) ??
      (bytes.added > 0 ? memoryRefusal(bytes, isOrdinary, caller === undefined && rows.added <= 0) : undefined);
    if (text === undefined) return undefined;
    countRefusal('total');
    return new StateError('rows-max', text);
  }

  function rowsRefusal({ total, added }: Growth, isOrdinary: boolean): string | undefined {
    if (total <= (isOrdinary ? rowsMax - reserve : rowsMax)) return undefined;
    const text = `the state holds ${total - added} rows, ${rowsMaxReason}`;
    return isOrdinary && reserve > 0 ? `${text}; the last ${reserve} rows are for operators` : text;
  }

  function memoryRefusal({ total, added }: Growth, isOrdinary: boolean, mayGrow: boolean): string | undefined {
    const growth = mayGrow ? GROWTH_RESERVE_SHARE : 0;
    if (total <= memory.bytesMax * (1 + growth - (isOrdinary ? RESERVE_SHARE : 0))) return undefined;
    const figures = `${mebibytes(total - added)} of ${mebibytes(memory.bytesMax)} MiB of memory`;
    const reserved = isOrdinary ? `; the last ${Math.round(RESERVE_SHARE * 100)} % are for operators` : '';
    return `the rows of the state take ${figures}: ${memory.reason}${reserved}`;
  }

  function refuseByQuota({ countChanges, find }: WriteEffect): StateError | undefined {
    for (const { table, key, before, after } of countChanges()) {
      if (after <= before) continue;
      const holder = find(table, key)?.row;
      const quota = byTable.get(table)?.find((each) => after > each.rowsMax && !isExempt(each, holder));
      if (quota === undefined) continue;
      countRefusal(quota.kind);
      return quotaError(quota, holder === undefined ? key : quota.nameOf(holder), after);
    }
    return undefined;
  }

  return {
    name: 'rows',
    refused,
    get space() {
      return space;
    },
    setSpace(now) {
      space = now;
    },
    refuse(effect) {
      const { caller } = effect;
      const hasQuotas = caller !== undefined && !caller.isOperator;
      return refuseBySpace(effect) ?? refuseByTotal(effect) ?? (hasQuotas ? refuseByQuota(effect) : undefined);
    },
    takeBytes(caller, bytes) {
      if (caller?.rateKey === undefined || caller.isOperator || bytes <= 0) return undefined;
      const waitMs = writeRate?.take(caller.rateKey, bytes) ?? 0;
      if (waitMs === 0) return undefined;
      const text = `too many bytes were written: the write has ${bytes}, and limits.write-rate is ${writeRate?.measure()[0]?.max} per second`;
      return new StateError('rate-limited', text, { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    },
    *crowdedHolders(share) {
      const { rowCounts, tables } = current();
      for (const quota of quotas) {
        const { table, rowsMax: max, kind, nameOf } = quota;
        for (const [key, rows] of rowCounts.entries(table)) {
          if (rows < max * share) continue;
          const holder = tables.get(table)?.rows.get(key)?.row;
          if (!isExempt(quota, holder)) yield { kind, name: holder === undefined ? key : nameOf(holder), rows };
        }
      }
    },
    measure() {
      const { rowCount, rowCounts, tables } = current();
      const total = { bound: 'total', used: rowCount, max: rowsMax };
      return [
        total,
        ...quotas.map((quota) => {
          let used = 0;
          for (const [key, rows] of rowCounts.entries(quota.table)) {
            if (rows > used && !isExempt(quota, tables.get(quota.table)?.rows.get(key)?.row)) used = rows;
          }
          return { bound: quota.kind, used, max: quota.rowsMax };
        }),
      ];
    },
  };
}

const isExempt = ({ isExempt: exempts }: RowQuota, holder: Stored<unknown>['row'] | undefined): boolean =>
  holder !== undefined && exempts?.(holder) === true;

function quotaError({ kind, setting, rowsMax }: RowQuota, name: string, rows: number): StateError {
  const remedy = 'remove rows, or ask an operator to raise the limit';
  return new StateError('quota', `${kind} "${name}" would have ${rows} rows, and ${setting} is ${rowsMax}: ${remedy}`);
}

/** Whether a write only makes the state smaller. Its audit entry is not counted. */
const removes = ({ isRemoval, rows, bytes }: WriteEffect): boolean =>
  isRemoval || rows.added < 0 || (rows.added === 0 && bytes.added < 0);

/** Returns the bytes that a write costs its caller: keys and values, and the store's own cost of each operation. */
export const chargedBytes = (bytes: number, operationCount: number): number => bytes + operationCount * OPERATION_BYTES;

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
