/** A small schema with every feature of tables: nested owners, unique and watched indexes, expiry, store-only rows. */
import { type DeepReadonly, defineSchema, defineTable } from '../../../src/state/table.ts';

export interface Organization {
  readonly id: string;
  readonly name: string;
}

export interface Team {
  readonly id: string;
  readonly organization: string;
  readonly name: string;
}

export interface Token {
  readonly id: string;
  readonly team: string;
  readonly hash: string;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
}

export interface Use {
  readonly id: string;
  readonly token: string;
}

export interface Counter {
  readonly id: string;
  readonly value: number;
  readonly partition: string;
}

export interface Reservation {
  readonly name: string;
  readonly holder: string;
  readonly until: number;
}

export interface Event {
  readonly id: string;
  readonly text: string;
}

export const organizations = defineTable<Organization>()({
  name: 'organizations',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: { name: { entry: (row) => row.name, unique: true } },
});

export const teams = defineTable<Team>()({
  name: 'teams',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (row) => row.organization, watched: true },
    name: { entry: (row) => `${row.organization}/${row.name}`, unique: true },
  },
  owners: [{ table: organizations, index: 'organization' }],
  countsToward: [{ table: organizations, key: (row) => row.organization }],
});

export const tokens = defineTable<Token>()({
  name: 'tokens',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {
    team: { entry: (row) => row.team, watched: true },
    hash: { entry: (row) => row.hash, unique: true },
  },
  owners: [{ table: teams, index: 'team' }],
  countsToward: [{ table: teams, key: (row) => row.team }],
  expiresAt: (row) => row.expiresAt,
});

export const uses = defineTable<Use>()({
  name: 'uses',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: { token: { entry: (row) => row.token, watched: true } },
  owners: [{ table: tokens, index: 'token' }],
  countsToward: [{ table: tokens, key: (row) => row.token }],
});

export const reservations = defineTable<Reservation>()({
  name: 'reservations',
  key: (row) => row.name,
  formats: { version: 1 },
  indexes: { holder: { entry: (row) => row.holder, unique: true } },
  expiresAt: (row) => row.until,
});

export const counters = defineTable<Counter>()({
  name: 'counters',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {
    partition: { entry: (row) => row.partition, watched: true },
    odd: { entry: (row) => (row.value % 2 === 1 ? 'odd' : undefined) },
  },
  // A holder that is no owner: its row may come and go while its counters stay.
  countsToward: [
    { table: reservations, key: ({ value, partition }) => (value % 3 === 0 ? partition : undefined) },
    { table: organizations, key: ({ value }) => (value % 3 === 1 ? `organizations-${value}` : undefined) },
  ],
});

export const events = defineTable<Event>()({
  name: 'events',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {},
  storeOnly: true,
});

export const testSchema = defineSchema([events, uses, tokens, reservations, teams, counters, organizations]);

/** Freezes a value deeply, so that changing a shared row throws. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value as DeepReadonly<T>;
}
