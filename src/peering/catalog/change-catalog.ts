/** Changes the rows of services and checks, for both the catalog endpoints and the local agent. */
import { cluster } from '../../credentials/cluster.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { CHECKS_MAX } from './limits.ts';
import { badRequest } from './read-fields.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from './tables/catalog-service.ts';
import { type CatalogCheck, type CheckStatus, mergeChecks } from './tables/check.ts';
import { nextDeadline, withDeadline } from './tables/check-deadline.ts';
import type { InstanceService } from './tables/instance.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from './tables/ttl-check.ts';

/** Whether two objects are equal. Both must have the same order of keys. */
const isSameJson = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);

export interface NodeRef {
  /** The `uid` of the node. */
  readonly node: string;
  readonly partition: string;
}

/**
 * Creates or replaces a service on a node and merges `given` into its checks. Writes nothing if nothing changed
 * ([SVC-18]).
 * @throws ServiceError `bad-request`: more checks than one service can have
 */
export function putService(
  tx: Transaction,
  { node, partition }: NodeRef,
  service: DeepReadonly<InstanceService>,
  given: readonly CatalogCheck[],
): void {
  const existing = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row;
  const checks = enforceChecksMax(mergeChecks(existing?.checks ?? [], given));
  if (existing?.checks === checks && (existing.service === service || isSameJson(existing.service, service))) return;
  tx.put(catalogServices, { node, partition, service, checks });
  const before = new Map(existing?.checks.map(({ id, status }) => [id, status]));
  for (const { id, status } of checks) {
    if (before.get(id) !== status) resetDeadline(tx, { node, serviceId: service.id, checkId: id }, status);
  }
}

/** Restarts the deadline of a TTL check whose status changed, whichever endpoint changed it ([SVC-55]). */
function resetDeadline(
  tx: Transaction,
  { node, serviceId, checkId }: Pick<TtlCheck, 'node' | 'serviceId' | 'checkId'>,
  status: CheckStatus,
): void {
  const row = tx.get(ttlChecks, ttlCheckKey(node, checkId))?.row;
  if (row?.serviceId === serviceId) tx.put(ttlChecks, withDeadline(row, nextDeadline(row, status, tx.now)));
}

/** @throws ServiceError `bad-request` */
export function enforceChecksMax<T>(checks: readonly T[]): readonly T[] {
  if (checks.length <= CHECKS_MAX) return checks;
  throw badRequest(`${checks.length} checks of one service or node: want at most ${CHECKS_MAX}`);
}

export function deleteService(tx: Transaction, { row }: Stored<CatalogService>): void {
  for (const { id } of row.checks) deleteTtlCheck(tx, row, id);
  tx.delete(catalogServices, catalogServiceKey(row.node, row.service.id));
}

export function deleteTtlCheck(
  tx: Transaction,
  { node, service }: DeepReadonly<CatalogService>,
  checkId: string,
): void {
  const key = ttlCheckKey(node, checkId);
  // Another service on the node may have a check with the same ID.
  if (tx.get(ttlChecks, key)?.row.serviceId === service.id) tx.delete(ttlChecks, key);
}

/** Rejects a request that names another datacenter ([SVC-19]). @throws ServiceError `bad-request` */
export function checkDatacenter(reader: Reader, given: string): void {
  if (given === '') return;
  const own = reader.get(cluster, 'cluster')?.row.datacenter;
  if (own?.toLowerCase() === given.toLowerCase()) return;
  throw badRequest(`No path to datacenter "${given}": this cluster is "${own}"`);
}
