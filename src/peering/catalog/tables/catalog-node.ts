/**
 * The nodes that services were registered on here. A node has a hidden ID of its own that is never used again: its
 * services belong to that, so that removing a node with everything on it is one small commit, whatever was on it.
 */
import { partitionKey } from '../../../credentials/partition.ts';
import { defineTable } from '../../../state/table.ts';
import type { KeptCheck } from './check.ts';

export interface CatalogNode {
  /** UUID, never used again, never shown. */
  readonly uid: string;
  /** As first given; compared without regard to case. */
  readonly name: string;
  readonly partition: string;
  readonly address: string;
  /** What its owner calls its ID: a UUID, or empty. */
  readonly id: string;
  readonly taggedAddresses: Readonly<Record<string, string>>;
  readonly meta: Readonly<Record<string, string>>;
  /** Checks of the whole node. */
  readonly checks: readonly KeptCheck[];
  /** The server whose local agent it is; such a node lives as long as the server's lease. */
  readonly agent?: string;
  /** Since when that lease is lost, in milliseconds since 1970. */
  readonly lostSinceMs?: number;
}

export const catalogNodes = defineTable<CatalogNode>()({
  name: 'catalog-nodes',
  key: ({ uid }) => uid,
  formats: { version: 1 },
  indexes: {
    name: { entry: ({ partition, name }) => catalogEntry(partition, name), unique: true },
    partition: { entry: ({ partition }) => partitionKey(partition), watched: true },
    agent: { entry: ({ agent }) => agent },
  },
});

/** The entry of a name in a partition, in the form in which names are compared. */
export const catalogEntry = (partition: string, name: string): string =>
  `${partitionKey(partition)}/${name.toLowerCase()}`;
