/**
 * The table of nodes registered in this cluster. Services belong to the node's internal `uid`, which is never reused,
 * so deleting a node with everything on it is one small commit.
 */
import { partitionKey, partitions } from '../../../credentials/partition.ts';
import { defineTable } from '../../../state/table.ts';
import type { CatalogCheck } from './check.ts';

export interface CatalogNode {
  /** Internal UUID. Never reused and never part of a response. */
  readonly uid: string;
  /** Spelled as in the first registration. Comparisons ignore case. */
  readonly name: string;
  readonly partition: string;
  readonly address: string;
  /** The ID that the client assigned: a UUID in lower case, or empty. */
  readonly id: string;
  readonly taggedAddresses: Readonly<Record<string, string>>;
  readonly meta: Readonly<Record<string, string>>;
  readonly checks: readonly CatalogCheck[];
  /** The name of the server whose local agent this node is. Its checks fail while the server's lease is lost. */
  readonly agent?: string;
  /** When the server's lease was lost, in milliseconds since 1970. Absent while the lease is live. */
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
  countsToward: [{ table: partitions, key: ({ partition }) => partitionKey(partition) }],
});

/** Returns the index entry for a node or service name in a partition. Ignores case. */
export const catalogEntry = (partition: string, name: string): string =>
  `${partitionKey(partition)}/${name.toLowerCase()}`;
