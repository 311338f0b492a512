/** What keeps a partition from being deleted: peerings in it, those under way included. */
import type { PartitionUse } from '../../credentials/api/delete-partition.ts';
import { partitionKey } from '../../credentials/partition.ts';
import { peerings } from './record.ts';
import { reservations } from './secrets.ts';

export const usedByPeerings: PartitionUse = (reader, partition) => {
  const [peering] = reader.list(peerings, 'partition', partition, { limit: 1 });
  if (peering !== undefined) return `peering "${peering.row.name}"`;
  const held = reader.all(reservations).find(({ row }) => partitionKey(row.partition) === partition);
  return held === undefined ? undefined : `peering "${held.row.name}", which is being established`;
};
