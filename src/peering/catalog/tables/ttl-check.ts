/**
 * The table of TTL checks with their deadlines. It is separate from the services, so renewing a check wakes no blocking
 * query ([SVC-52]).
 */
import { defineTable, expiryEntry } from '../../../state/table.ts';
import { catalogNodes } from './catalog-node.ts';

/** The time and kind of the server's next action on a check. A report of the check's status sets a new deadline. */
export interface Deadline {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** `expire` makes the check critical. `deregister` removes the service after the check was critical for too long. */
  readonly what: 'expire' | 'deregister';
}

export interface TtlCheck {
  /** The `uid` of its node. */
  readonly node: string;
  readonly checkId: string;
  readonly serviceId: string;
  readonly ttlMs: number;
  /** How long the check may be critical before its service is removed. Absent: never. */
  readonly deregisterAfterMs?: number;
  /** Absent until the next report if the server has nothing to do. */
  readonly due?: Deadline;
}

/** Returns the primary key. IDs of TTL checks are unique on their node, because reports name only the ID ([SVC-49]). */
export const ttlCheckKey = (node: string, checkId: string): string => `${node}/${checkId}`;

export const ttlChecks = defineTable<TtlCheck>()({
  name: 'ttl-checks',
  key: ({ node, checkId }) => ttlCheckKey(node, checkId),
  formats: { version: 1 },
  indexes: {
    node: { entry: ({ node }) => node },
    due: { entry: ({ due }) => (due === undefined ? undefined : expiryEntry(due.atMs)) },
  },
  owners: [{ table: catalogNodes, index: 'node' }],
  countsToward: [{ table: catalogNodes, key: ({ node }) => node }],
});
