/** What becomes of the rows when something is registered or taken away; shared by the catalog and the local agent. */
import { cluster } from '../../credentials/cluster.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { CHECKS_MAX } from './limits.ts';
import { refused } from './read-fields.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from './tables/catalog-service.ts';
import { type CheckStatus, type KeptCheck, withChecks } from './tables/check.ts';
import { dueAfter, withDue } from './tables/check-deadline.ts';
import type { InstanceService } from './tables/instance.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from './tables/ttl-check.ts';

/** Texts of what stands in rows: what comes again and again is compared with what was made the first time. */
const texts = new WeakMap<object, string>();

/** Whether two values that were made in one order of keys are the same; the first one stands in a row. */
function isSame(standing: object, given: object): boolean {
  let text = texts.get(standing);
  if (text === undefined) {
    text = JSON.stringify(standing);
    texts.set(standing, text);
  }
  return text === JSON.stringify(given);
}

/** Where a service goes. */
export interface OnNode {
  /** The `uid` of the node. */
  readonly node: string;
  readonly partition: string;
}

/**
 * Puts a service with its checks on a node; the checks that it has stay. Changes nothing where all is as it was.
 * @throws ServiceError `bad-request`: more checks than one service can have
 */
export function putService(
  tx: Transaction,
  { node, partition }: OnNode,
  service: DeepReadonly<InstanceService>,
  given: readonly KeptCheck[],
): void {
  const standing = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row;
  const checks = boundedChecks(withChecks(standing?.checks ?? [], given));
  if (standing?.checks === checks && (standing.service === service || isSame(standing.service, service))) return;
  tx.put(catalogServices, { node, partition, service, checks });
  const before = new Map(standing?.checks.map(({ id, status }) => [id, status]));
  for (const { id, status } of checks) {
    if (before.get(id) !== status) moveTtl(tx, { node, serviceId: service.id, checkId: id }, status);
  }
}

/** A check with a time to live that says something else from now on: whoever said it, what is next is next from now. */
function moveTtl(
  tx: Transaction,
  { node, serviceId, checkId }: Pick<TtlCheck, 'node' | 'serviceId' | 'checkId'>,
  status: CheckStatus,
): void {
  const row = tx.get(ttlChecks, ttlCheckKey(node, checkId))?.row;
  if (row?.serviceId === serviceId) tx.put(ttlChecks, withDue(row, dueAfter(row, status, tx.now)));
}

/** @throws ServiceError `bad-request` */
export function boundedChecks<T>(checks: readonly T[]): readonly T[] {
  if (checks.length <= CHECKS_MAX) return checks;
  throw refused(`${checks.length} checks of one service or node are too many, want at most ${CHECKS_MAX}`);
}

/** Takes a service away, with its checks. */
export function deleteService(tx: Transaction, { row }: Stored<CatalogService>): void {
  for (const { id } of row.checks) deleteTtl(tx, row, id);
  tx.delete(catalogServices, catalogServiceKey(row.node, row.service.id));
}

/** Forgets when a check of a service falls due, if it does. */
export function deleteTtl(tx: Transaction, { node, service }: DeepReadonly<CatalogService>, checkId: string): void {
  const key = ttlCheckKey(node, checkId);
  // On the same node another service can have a check that is called so.
  if (tx.get(ttlChecks, key)?.row.serviceId === service.id) tx.delete(ttlChecks, key);
}

/** Refuses what is meant for another datacenter. @throws ServiceError `bad-request` */
export function checkDatacenter(reader: Reader, given: string): void {
  if (given === '') return;
  const own = reader.get(cluster, 'cluster')?.row.datacenter;
  if (own?.toLowerCase() === given.toLowerCase()) return;
  throw refused(`No path to datacenter "${given}": this cluster is "${own}"`);
}
