/** Keeps a partition from being deleted while it contains entries or an entry names it ([ACL-62]). */
import type { PartitionUse } from '../../credentials/api/delete-partition.ts';
import { partitionKey } from '../../credentials/partition.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { type ConfigEntry, configEntries, KINDS, kindEntry } from './config-entry.ts';

/** Scans every entry for the partition, because deleting partitions is rare. */
export const usedByEntries: PartitionUse = (reader, partition) => {
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
