/** The peerings that a caller may read, worked out once for all callers with the same grants and a snapshot. */
import { hash } from 'node:crypto';
import { type Caller, lacks } from '../../credentials/caller.ts';
import { type Grant, permits, permitsSome } from '../../credentials/grant.ts';
import { partitionKey } from '../../credentials/partition.ts';
import { readablePartitions } from '../../credentials/readable-partitions.ts';
import { ALL_PARTITIONS, existingPartition } from '../../credentials/request-partition.ts';
import { MEMO_REFERENCE_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Stored } from '../../state/table.ts';
import { type Peering, peerings } from '../record/record.ts';

export interface VisiblePeerings {
  /** By name, equal names by partition. */
  readonly peerings: readonly Stored<Peering>[];
  /** Others were left out. */
  readonly filtered: boolean;
  /** Where they were looked for. */
  readonly partitions: readonly string[];
  /** The same for everybody who sees the same of one snapshot. */
  readonly key: string;
}

/**
 * In one partition, or in all.
 * @throws ServiceError `permission-denied` for a caller who may read nothing there, whatever there is; `bad-request`
 */
export function visiblePeerings(snapshot: Snapshot, caller: Caller, partition: string): VisiblePeerings {
  if (partition !== ALL_PARTITIONS && !permitsSome(caller.grants, 'peering', 'read', partition)) {
    throw lacks(caller, { resource: 'peering', access: 'read' });
  }
  const key = `visible peerings\0${partitionKey(partition)}\0${grantsKey(caller.grants)}`;
  const make = (): VisiblePeerings => {
    const partitions =
      partition === ALL_PARTITIONS
        ? readablePartitions(snapshot, caller, 'peering').names
        : [existingPartition(snapshot, partition)];
    const inReach = partitions.flatMap((name) => snapshot.list(peerings, 'partition', partitionKey(name)));
    const visible = inReach.filter(({ row: { name, partition: of } }) =>
      permits(caller.grants, { resource: 'peering', access: 'read', partition: of, name }),
    );
    const all = partition === ALL_PARTITIONS ? snapshot.count(peerings) : inReach.length;
    return { peerings: visible.sort(byName), filtered: visible.length < all, partitions, key };
  };
  return snapshot.memo(key, make, (visible) => visible.peerings.length * MEMO_REFERENCE_BYTES);
}

function byName({ row: a }: Stored<Peering>, { row: b }: Stored<Peering>): number {
  return (
    compare(a.name.toLowerCase(), b.name.toLowerCase()) || compare(partitionKey(a.partition), partitionKey(b.partition))
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** By the grants of a token's row, which never change. */
const grantsKeys = new WeakMap<readonly Grant[], string>();

/** What the grants say about peerings; short, however many they are. */
function grantsKey(grants: readonly Grant[]): string {
  let key = grantsKeys.get(grants);
  if (key === undefined) {
    key = hash('sha256', JSON.stringify(grants.filter(({ Resource }) => Resource === 'peering')), 'base64url');
    grantsKeys.set(grants, key);
  }
  return key;
}
