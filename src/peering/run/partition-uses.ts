/** Keeps a partition from being deleted while peerings, nodes or configuration entries use it ([ACL-62]). */
import type { PartitionUse } from '../../credentials/api/delete-partition.ts';
import { partitionKey } from '../../credentials/partition.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { catalogNodes } from '../catalog/tables/catalog-node.ts';
import { type ConfigEntry, configEntries, KINDS, kindEntry } from '../config-entries/config-entry.ts';
import { peerings } from '../record/record.ts';
import { reservations } from '../record/secrets.ts';

const usedByPeerings: PartitionUse = (reader, partition) => {
  const [peering] = reader.list(peerings, 'partition', partition, { limit: 1 });
  if (peering !== undefined) return `peering "${peering.row.name}"`;
  const reservation = reader.all(reservations).find(({ row }) => partitionKey(row.partition) === partition);
  return reservation === undefined ? undefined : `peering "${reservation.row.name}", which is being established`;
};

const usedByCatalog: PartitionUse = (reader, partition) => {
  const [node] = reader.list(catalogNodes, 'partition', partition, { limit: 1 });
  return node === undefined ? undefined : `node "${node.row.name}" of the catalog`;
};

/** Scans every entry for the name of the partition, because deleting partitions is rare. */
const usedByEntries: PartitionUse = (reader, partition) => {
  for (const kind of KINDS) {
    const [resident] = reader.list(configEntries, 'kind', kindEntry(partition, kind), { limit: 1 });
    if (resident !== undefined) return describeEntry(resident.row);
  }
  const other = reader.all(configEntries).find(({ row }) => partitionsIn(row).includes(partition));
  return other === undefined ? undefined : `${describeEntry(other.row)} in partition "${other.row.partition}"`;
};

const describeEntry = ({ kind, name }: DeepReadonly<ConfigEntry>): string =>
  `the configuration entry ${kind} "${name}"`;

function partitionsIn(entry: DeepReadonly<ConfigEntry>): readonly string[] {
  const named =
    entry.kind === 'exported-services'
      ? entry.services.flatMap(({ consumers }) => consumers.map((one) => ('partition' in one ? one.partition : '')))
      : entry.sources.map((source) => source.partition ?? '');
  return named.map(partitionKey);
}

/** Each returns the object that prevents the deletion of a partition, for the error message. */
export const partitionUses: readonly PartitionUse[] = [usedByPeerings, usedByCatalog, usedByEntries];
