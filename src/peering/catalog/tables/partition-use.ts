/** What keeps a partition from being deleted: nodes in it, and with them everything that is registered. */
import type { PartitionUse } from '../../../credentials/api/delete-partition.ts';
import { catalogNodes } from './catalog-node.ts';

export const usedByCatalog: PartitionUse = (reader, partition) => {
  const [node] = reader.list(catalogNodes, 'partition', partition, { limit: 1 });
  return node === undefined ? undefined : `node "${node.row.name}" of the catalog`;
};
