/** Keeps a partition from being deleted while peerings, nodes or configuration entries use it ([ACL-62]). */
import type { PartitionUse, PartitionUser } from '../../credentials/api/delete-partition.ts';
import { partitionKey } from '../../credentials/partition.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { catalogNodes } from '../catalog/tables/catalog-node.ts';
import { type ConfigEntry, configEntries, KINDS, kindEntry } from '../config-entries/config-entry.ts';
import { peerings } from '../record/record.ts';
import { reservations } from '../record/secrets.ts';

const usedByPeerings: PartitionUse = (reader, partition) => {
  const [peering] = reader.list(peerings, 'partition', partition, { limit: 1 });
  if (peering !== undefined) {
    const { name } = peering.row;
    return { text: `peering "${name}"`, needs: { resource: 'peering', access: 'read', partition, name } };
  }
  const reservation = reader.all(reservations).find(({ row }) => partitionKey(row.partition) === partition);
  if (reservation === undefined) return undefined;
  const { name } = reservation.row;
  const text = `peering "${name}", which is being established`;
  return { text, needs: { resource: 'peering', access: 'read', partition, name } };
};

const usedByCatalog: PartitionUse = (reader, partition) => {
  const [node] = reader.list(catalogNodes, 'partition', partition, { limit: 1 });
  if (node === undefined) return undefined;
  return {
    text: `node "${node.row.name}" of the catalog`,
    needs: { resource: 'services', access: 'read', partition },
  };
};

/** Scans every entry for the name of the partition, because deleting partitions is rare. */
const usedByEntries: PartitionUse = (reader, partition) => {
  for (const kind of KINDS) {
    const [resident] = reader.list(configEntries, 'kind', kindEntry(partition, kind), { limit: 1 });
    if (resident !== undefined) return { text: describeEntry(resident.row), needs: readEntry(resident.row) };
  }
  const other = reader.all(configEntries).find(({ row }) => partitionsIn(row).includes(partition));
  if (other === undefined) return undefined;
  const text = `${describeEntry(other.row)} in partition "${other.row.partition}"`;
  return { text, needs: readEntry(other.row) };
};

const readEntry = ({ partition, name }: DeepReadonly<ConfigEntry>): PartitionUser['needs'] => ({
  resource: 'config',
  access: 'read',
  partition,
  name,
});

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
