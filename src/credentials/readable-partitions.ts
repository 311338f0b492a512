import type { Reader } from '../state/memory/reader.ts';
import { type Caller, permissionDenied } from './caller.ts';
import { permitsAnyName, type Resource } from './grant.ts';
import { partitions } from './partition.ts';

/**
 * Returns the partitions that `partition=*` covers: those in which the caller has a read grant on the resource [ACL-53].
 * `filtered` is true if it omits any.
 * @throws ServiceError `permission-denied` if the caller may read the resource in no partition
 */
export function readablePartitions(
  reader: Reader,
  caller: Caller,
  resource: Resource,
): { readonly names: readonly string[]; readonly filtered: boolean } {
  const all = reader.all(partitions).map(({ row }) => row.name);
  const names = all.filter((partition) => permitsAnyName(caller.grants, resource, 'read', partition));
  if (names.length === 0) throw permissionDenied(caller, { resource, access: 'read' });
  return { names, filtered: names.length < all.length };
}
