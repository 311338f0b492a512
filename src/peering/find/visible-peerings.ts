/** The peerings that a caller may read, computed once per snapshot for all callers with the same grants. */
import { grantsKeyFor, permits, permitsAnyName } from '../../credentials/acl-token.ts';
import { type Caller, permissionDenied, readablePartitions } from '../../credentials/caller.ts';
import { ALL_PARTITIONS, existingPartition, partitionKey } from '../../credentials/partition.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Stored } from '../../state/table.ts';
import { type Peering, peerings } from '../record/record.ts';

export interface VisiblePeerings {
  /** Sorted by name, then by partition. */
  readonly peerings: readonly Stored<Peering>[];
  /** Whether peerings were omitted because the caller may not read them. */
  readonly filtered: boolean;
  readonly partitions: readonly string[];
  /** Equal for callers that see the same peerings of one snapshot. */
  readonly key: string;
}

const grantsKey = grantsKeyFor('peering');

/**
 * Returns the peerings of one partition, or with `*` of all.
 * @throws ServiceError `permission-denied` when the caller may read nothing there, even if it is empty; `bad-request`
 */
export function visiblePeerings(snapshot: Snapshot, caller: Caller, partition: string): VisiblePeerings {
  if (partition !== ALL_PARTITIONS && !permitsAnyName(caller.grants, 'peering', 'read', partition)) {
    throw permissionDenied(caller, { resource: 'peering', access: 'read' });
  }
  const key = `visible peerings\0${partitionKey(partition)}\0${grantsKey(caller.grants)}`;
  const compute = (): VisiblePeerings => {
    const partitions =
      partition === ALL_PARTITIONS
        ? readablePartitions(snapshot, caller, 'peering').names
        : [existingPartition(snapshot, partition)];
    const candidates = partitions.flatMap((name) => snapshot.list(peerings, 'partition', partitionKey(name)));
    const visible = candidates.filter(({ row: { name, partition: of } }) =>
      permits(caller.grants, { resource: 'peering', access: 'read', partition: of, name }),
    );
    const all = partition === ALL_PARTITIONS ? snapshot.count(peerings) : candidates.length;
    return { peerings: visible.sort(byName), filtered: visible.length < all, partitions, key };
  };
  return snapshot.memoize(key, compute, (visible) => visible.peerings.length * REFERENCE_BYTES);
}

function byName({ row: a }: Stored<Peering>, { row: b }: Stored<Peering>): number {
  return (
    compare(a.name.toLowerCase(), b.name.toLowerCase()) || compare(partitionKey(a.partition), partitionKey(b.partition))
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
