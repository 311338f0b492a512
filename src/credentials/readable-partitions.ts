/** Which partitions a caller may read something in: what `partition=*` spans. */
import type { Reader } from '../state/memory/reader.ts';
import { type Caller, lacks } from './caller.ts';
import { permitsSome, type Resource } from './grant.ts';
import { partitions } from './partition.ts';

/**
 * The names of the partitions where the caller may read some of `resource`, and whether others were left out.
 * @throws ServiceError `permission-denied` when there is none
 */
export function readablePartitions(
  reader: Reader,
  caller: Caller,
  resource: Resource,
): { readonly names: readonly string[]; readonly filtered: boolean } {
  const all = reader.all(partitions).map(({ row }) => row.name);
  const names = all.filter((partition) => permitsSome(caller.grants, resource, 'read', partition));
  if (names.length === 0) throw lacks(caller, { resource, access: 'read' });
  return { names, filtered: names.length < all.length };
}
