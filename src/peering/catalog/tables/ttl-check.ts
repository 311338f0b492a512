/**
 * When checks fall due. Apart from the services, so that a check that is renewed over and over changes nothing that
 * anybody waits for.
 */
import { defineTable, expiryEntry } from '../../../state/table.ts';
import { catalogNodes } from './catalog-node.ts';

/** What is to be done, unless the service reports before. */
export interface Due {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The check becomes critical; or it has been for too long, and its service goes. */
  readonly what: 'expire' | 'deregister';
}

export interface TtlCheck {
  /** The `uid` of its node. */
  readonly node: string;
  readonly checkId: string;
  readonly serviceId: string;
  readonly ttlMs: number;
  /** How long after it has become critical its service is removed; absent: it never is. */
  readonly deregisterAfterMs?: number;
  /** Absent: nothing is to be done until the service reports. */
  readonly due?: Due;
}

/** IDs of these checks are unique on their node: by them alone they are renewed. */
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
});
