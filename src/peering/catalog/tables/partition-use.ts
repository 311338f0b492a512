/** Keeps a partition from being deleted while it contains nodes, and with them services ([ACL-62]). */
import type { PartitionUse } from '../../../credentials/api/delete-partition.ts';
import { catalogNodes } from './catalog-node.ts';

export const usedByCatalog: PartitionUse = (reader, partition) => {
  const [node] = reader.list(catalogNodes, 'partition', partition, { limit: 1 });
  return node === undefined ? undefined : `node "${node.row.name}" of the catalog`;
};
