/**
 * `PUT /v1/catalog/deregister`: deletes a check, a service with its checks, or a node with everything on it ([SVC-26]).
 * Deleting a missing item succeeds for callers that may write every service. Other callers get 403 whether or not the
 * item exists, also when they repeat a request that succeeded ([SVC-5], [SVC-27]).
 */

import { permits } from '../../../credentials/acl-token.ts';
import {
  type Caller,
  type Credentials,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import type { Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { checkDatacenter, deleteService, deleteTtlCheck } from '../change-catalog.ts';
import { authorizeAllServices, authorizeAnyService, permitsAllServices } from '../query/visibility.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { type Deregistration, readDeregistration, withNamedPartition } from './read-registration.ts';
import type { DeregistrationBody } from './request-schemas.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function deregister(
  credentials: Credentials,
  context: RequestContext,
  body: DeregistrationBody,
): Promise<true> {
  const deregistration = readDeregistration(body);
  const scopedContext = withNamedPartition(context, body);
  await writeForRequest(credentials, context, (tx) => apply(tx, credentials, scopedContext, deregistration));
  return true;
}

function apply(tx: Transaction, credentials: Credentials, context: RequestContext, given: Deregistration): void {
  const { caller, partition: namedPartition } = resolveCaller(credentials, tx, context);
  const { serviceId, checkId } = given;
  authorizeAnyService(caller, 'write', namedPartition);
  const wholeNode = serviceId === '' && checkId === '';
  if (wholeNode) authorizeAllServices(caller, namedPartition);
  const partition = existingPartition(tx, namedPartition);
  checkDatacenter(tx, given.datacenter);
  const node = tx.find(catalogNodes, 'name', catalogEntry(partition, given.node));
  if (wholeNode) {
    if (node !== undefined) tx.delete(catalogNodes, node.row.uid);
    return;
  }
  const target = node && { caller, partition, node };
  const removed =
    target !== undefined &&
    (serviceId === '' ? removeCheck(tx, target, checkId) : removeService(tx, target, serviceId));
  // The same 403 for a missing item as for one that the caller may not write.
  if (!removed) authorizeAllServices(caller, partition);
}

interface NodeTarget {
  readonly caller: Caller;
  readonly partition: string;
  readonly node: Stored<CatalogNode>;
}

/** @returns whether the service existed and the caller may delete it */
function removeService(tx: Transaction, target: NodeTarget, serviceId: string): boolean {
  const stored = tx.get(catalogServices, catalogServiceKey(target.node.row.uid, serviceId));
  if (stored === undefined || !mayChange(target, stored)) return false;
  deleteService(tx, stored);
  return true;
}

/** Deletes the node's and its services' checks with this ID that the caller may change. @returns whether any were */
function removeCheck(tx: Transaction, target: NodeTarget, checkId: string): boolean {
  const { caller, partition, node } = target;
  const kept = node.row.checks.filter(({ id }) => id !== checkId);
  const ofNode = kept.length < node.row.checks.length && permitsAllServices(caller, 'write', partition);
  if (ofNode) tx.put(catalogNodes, { ...node.row, checks: kept });
  const own = tx
    .list(catalogServices, 'node', node.row.uid)
    .filter((stored) => stored.row.checks.some(({ id }) => id === checkId) && mayChange(target, stored));
  for (const stored of own) removeServiceCheck(tx, stored, checkId);
  return ofNode || own.length > 0;
}

const mayChange = ({ caller, partition }: NodeTarget, { row }: Stored<CatalogService>): boolean =>
  permits(caller.grants, { resource: 'services', access: 'write', partition, name: row.service.name });

function removeServiceCheck(tx: Transaction, { row }: Stored<CatalogService>, checkId: string): void {
  tx.put(catalogServices, { ...row, checks: row.checks.filter(({ id }) => id !== checkId) });
  deleteTtlCheck(tx, row, checkId);
}
