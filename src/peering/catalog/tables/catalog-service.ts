/**
 * The table of services registered in this cluster. A service and its checks share one row, so a check report wakes
 * only the blocking queries that read this service.
 */
import { partitionKey } from '../../../credentials/partition.ts';
import { defineTable } from '../../../state/table.ts';
import { catalogEntry, catalogNodes } from './catalog-node.ts';
import type { CatalogCheck } from './check.ts';
import type { InstanceService } from './instance.ts';

export interface CatalogService {
  /** The `uid` of its node. */
  readonly node: string;
  /** The partition of the node, repeated here for the indexes. */
  readonly partition: string;
  readonly service: InstanceService;
  readonly checks: readonly CatalogCheck[];
}

/** Returns the primary key of a service. Service IDs are unique on their node and case-sensitive ([SVC-11]). */
export const catalogServiceKey = (node: string, serviceId: string): string => `${node}/${serviceId}`;

export const catalogServices = defineTable<CatalogService>()({
  name: 'catalog-services',
  key: ({ node, service }) => catalogServiceKey(node, service.id),
  formats: { version: 1 },
  indexes: {
    node: { entry: ({ node }) => node, watched: true },
    name: { entry: ({ partition, service }) => catalogEntry(partition, service.name), watched: true },
    partition: { entry: ({ partition }) => partitionKey(partition), watched: true },
  },
  owners: [{ table: catalogNodes, index: 'node' }],
  countsToward: [{ table: catalogNodes, key: ({ node }) => node }],
});
