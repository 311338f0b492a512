/** A simple reference model of the state: maps, copied before each write. */
import { type AnyTable, indexOf, type Stored } from '../../../src/state/table.ts';
import {
  type Counter,
  counters,
  type Event,
  type Organization,
  organizations,
  type Reservation,
  reservations,
  type Team,
  type Token,
  teams,
  testSchema,
  tokens,
  type Use,
  uses,
} from './tables.ts';

type Row = Organization | Team | Token | Use | Counter | Reservation;

/** One change in a write. */
export type Operation =
  | {
      readonly kind: 'put';
      readonly table: AnyTable;
      readonly row: Organization | Team | Token | Use | Counter | Reservation;
    }
  | { readonly kind: 'delete'; readonly table: AnyTable; readonly key: string }
  | { readonly kind: 'expire'; readonly table: AnyTable; readonly limit: number }
  | { readonly kind: 'append'; readonly row: Event };

/** Random numbers from which the model derives an operation that fits the existing rows. */
export interface OperationSeed {
  readonly kind: 'put' | 'delete' | 'expire' | 'append';
  readonly table: string;
  readonly which: number;
  readonly owner: number;
  readonly value: number;
  readonly ttlMs: number | undefined;
}

type Rows = Map<AnyTable, Map<string, Stored<unknown>>>;

/** The outcome of a write of the model. */
export interface ModelWrite {
  readonly operations: readonly Operation[];
  /** The result of each operation; `undefined` if the write was rejected. */
  readonly results: readonly unknown[] | undefined;
}

/** The tables whose rows are in memory. */
export const memoryTables: readonly AnyTable[] = [organizations, teams, tokens, uses, counters, reservations];
const ownerOf = new Map<AnyTable, AnyTable>([
  [teams, organizations],
  [tokens, teams],
  [uses, tokens],
]);

/** The rejection of a write by a rule of the state. */
class Rejection extends Error {
  override readonly name = 'Rejection';
}

export interface StateModel {
  readonly index: number;
  /** The appended texts by key. */
  readonly events: ReadonlyMap<string, string>;
  /** Runs the writes of one batch. A write with `throws` throws at its end. */
  batch(
    writes: readonly { readonly seeds: readonly OperationSeed[]; readonly throws: boolean }[],
    now: number,
  ): ModelWrite[];
  /** Returns the rows that exist at `now`, in the order of their keys. */
  existingRows(table: AnyTable, now: number): Stored<unknown>[];
  /** Sets the index after a commit that the model did not make. */
  setIndex(index: number): void;
}

export function createModel(index: number): StateModel {
  let rows: Rows = new Map(testSchema.tables.map((table) => [table, new Map()]));
  let appended = new Map<string, string>();
  let current = index;
  let lastId = 0;

  const of = (table: AnyTable): Map<string, Stored<unknown>> => rows.get(table) ?? new Map();
  const isAlive = (table: AnyTable, row: unknown, now: number): boolean => {
    const expiresAt = table.expiresAt?.(row);
    if (expiresAt !== undefined && expiresAt <= now) return false;
    return ownersAlive(table, row, now);
  };
  const ownersAlive = (table: AnyTable, row: unknown, now: number): boolean =>
    (table.owners ?? []).every((owner) => {
      const ownerKey = indexOf(table, owner.index).entry(row) ?? '';
      const existing = of(owner.table).get(ownerKey);
      return existing !== undefined && isAlive(owner.table, existing.row, now);
    });
  const living = (table: AnyTable, now: number): Stored<unknown>[] =>
    [...of(table)]
      .filter(([, { row }]) => isAlive(table, row, now))
      .toSorted(byKey)
      .map(([, stored]) => stored);

  const put = (table: AnyTable, row: object, at: number, now: number, touched: Set<string>): number => {
    if (!ownersAlive(table, row, now)) throw new Rejection('owner');
    const key = table.key(row);
    const existing = of(table).get(key);
    const createIndex = existing !== undefined && isAlive(table, existing.row, now) ? existing.createIndex : at;
    for (const { unique, entry } of table.indexList) {
      if (!unique) continue;
      const occupant = [...of(table)].find(([other, stored]) => other !== key && entry(stored.row) === entry(row));
      if (occupant === undefined) continue;
      if (isAlive(table, occupant[1].row, now)) throw new Rejection('unique');
      of(table).delete(occupant[0]);
      touched.add(`${table.name}/${occupant[0]}`);
    }
    of(table).set(key, { row, createIndex, modifyIndex: at });
    touched.add(`${table.name}/${key}`);
    return createIndex;
  };

  const apply = (operation: Operation, at: number, now: number, touched: Set<string>): unknown => {
    if (operation.kind === 'put') return put(operation.table, operation.row, at, now, touched);
    if (operation.kind === 'append') {
      appended.set(operation.row.id, operation.row.text);
      touched.add(`events/${operation.row.id}`);
      return undefined;
    }
    const { table } = operation;
    if (operation.kind === 'delete') {
      const existing = of(table).get(operation.key);
      if (existing === undefined || !isAlive(table, existing.row, now)) return false;
      of(table).delete(operation.key);
      touched.add(`${table.name}/${operation.key}`);
      return true;
    }
    const due = [...of(table)].filter(([, { row }]) => (table.expiresAt?.(row) ?? Number.POSITIVE_INFINITY) <= now);
    due.sort(
      ([a, { row: x }], [b, { row: y }]) =>
        (table.expiresAt?.(x) ?? 0) - (table.expiresAt?.(y) ?? 0) || (a < b ? -1 : 1),
    );
    const taken = due.slice(0, operation.limit).map(([key]) => key);
    for (const key of taken) {
      of(table).delete(key);
      touched.add(`${table.name}/${key}`);
    }
    return taken;
  };

  /** Derives an operation from the seed and the existing rows. Never uses the ID of an owner again. */
  const toOperation = (seed: OperationSeed, now: number): Operation => {
    if (seed.kind === 'append') return { kind: 'append', row: { id: `e${++lastId}`, text: String(seed.value) } };
    if (seed.kind === 'expire')
      return { kind: 'expire', table: seed.which % 2 === 0 ? tokens : reservations, limit: 1 + (seed.which % 4) };
    const { kind } = seed;
    const table = tableNamed(seed.table);
    const keys = testSchema.owned.has(table)
      ? living(table, now).map(({ row }) => table.key(row as object))
      : [...of(table).keys()];
    const key = keys[seed.which % (keys.length + 1)] ?? `${table.name}-${++lastId}`;
    if (kind === 'delete') return { kind, table, key };
    const ownerTable = ownerOf.get(table);
    if (ownerTable === undefined) return { kind, table, row: makeRow(table, seed, key, '', now) };
    const ownerKeys = [...of(ownerTable).keys()];
    if (ownerKeys.length === 0) return toOperation({ ...seed, table: ownerTable.name }, now);
    return { kind, table, row: makeRow(table, seed, key, ownerKeys[seed.owner % ownerKeys.length] ?? '', now) };
  };

  /** Drops the rows whose owner is missing, at any depth. */
  const dropOrphans = (): void => {
    for (const table of testSchema.tables) {
      for (const owner of table.owners ?? []) {
        const entry = indexOf(table, owner.index).entry;
        for (const [key, { row }] of of(table)) if (!of(owner.table).has(entry(row) ?? '')) of(table).delete(key);
      }
    }
  };

  return {
    get index() {
      return current;
    },
    get events() {
      return appended;
    },
    existingRows: living,
    setIndex(next) {
      current = next;
    },
    batch(writes, now) {
      const touched = new Set<string>();
      const outcomes = writes.map(({ seeds, throws }): ModelWrite => {
        const saved = { rows: copy(rows), appended: new Map(appended) };
        const mine = new Set<string>();
        const operations: Operation[] = [];
        try {
          const results = seeds.map((seed) => {
            const operation = toOperation(seed, now);
            operations.push(operation);
            return apply(operation, current + 1, now, mine);
          });
          if (throws) throw new Rejection('on purpose');
          for (const key of mine) touched.add(key);
          return { operations, results };
        } catch (error) {
          if (!(error instanceof Rejection)) throw error;
          ({ rows, appended } = saved);
          return { operations, results: undefined };
        }
      });
      if (touched.size > 0) current++;
      dropOrphans();
      return outcomes;
    },
  };
}

function tableNamed(name: string): AnyTable {
  const table = testSchema.byName.get(name);
  if (table === undefined) throw new TypeError(`there is no table '${name}'`);
  return table;
}

function makeRow(table: AnyTable, { value, ttlMs }: OperationSeed, key: string, owner: string, now: number): Row {
  const few = String(value % 4);
  if (table === organizations) return { id: key, name: String(value) };
  if (table === teams) return { id: key, organization: owner, name: few };
  if (table === tokens)
    return { id: key, team: owner, hash: String(value), ...(ttlMs === undefined ? {} : { expiresAt: now + ttlMs }) };
  if (table === uses) return { id: key, token: owner };
  if (table === reservations) return { name: key, holder: String(value), until: now + (ttlMs ?? 50) };
  return { id: key, value, partition: few };
}

function copy(rows: Rows): Rows {
  return new Map([...rows].map(([table, byKey]) => [table, new Map(byKey)]));
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;
