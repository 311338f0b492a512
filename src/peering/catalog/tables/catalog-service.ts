/**
 * The services that were registered here, each with its checks: they are read, shown and sent together, so they are
 * one row, and a report of a check wakes exactly those who wait for its service.
 */
import { partitionKey } from '../../../credentials/partition.ts';
import { defineTable } from '../../../state/table.ts';
import { catalogEntry, catalogNodes } from './catalog-node.ts';
import type { KeptCheck } from './check.ts';
import type { InstanceService } from './instance.ts';

export interface CatalogService {
  /** The `uid` of its node. */
  readonly node: string;
  /** That of the node. */
  readonly partition: string;
  readonly service: InstanceService;
  readonly checks: readonly KeptCheck[];
}

/** IDs of services are unique on their node, and told apart by case. */
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
});
