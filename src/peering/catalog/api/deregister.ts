/**
 * `PUT /v1/catalog/deregister`: deletes a check, a service with its checks, or a node with everything on it ([SVC-26]).
 * Deleting a missing item succeeds for callers that may write every service. Other callers get 403 whether or not the
 * item exists, also when they repeat a request that succeeded ([SVC-5], [SVC-27]).
 */

import { permits } from '../../../credentials/acl-token.ts';
import {
  beginLargeRequest,
  type Caller,
  type Credentials,
  type RequestContext,
  resolveCaller,
  writeForRequest,
  writeInSlicesForRequest,
} from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import { filterInSlices, runAtOnce, type Steps, visitInSlices } from '../../../state/clock/slices.ts';
import { listInSlices } from '../../../state/memory/reader.ts';
import type { Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { checkDatacenter, deleteService, deleteTtlCheck } from '../change-catalog.ts';
import { CHECKED_SERVICES_AT_ONCE } from '../limits.ts';
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
  const change = (tx: Transaction): Steps<void> => apply(tx, credentials, scopedContext, deregistration);
  if (!isLarge(credentials, scopedContext, deregistration)) {
    await writeForRequest(credentials, context, (tx) => runAtOnce(change(tx)));
    return true;
  }
  using _request = beginLargeRequest(credentials, context);
  await writeInSlicesForRequest(credentials, context, change);
  return true;
}

/** Whether the removal of a check has to look at very many services. Callers without any grant learn nothing. */
function isLarge(credentials: Credentials, context: RequestContext, given: Deregistration): boolean {
  if (given.checkId === '' || given.serviceId !== '') return false;
  const { snapshot } = credentials.state;
  const { caller, partition } = resolveCaller(credentials, snapshot, context);
  authorizeAnyService(caller, 'write', partition);
  const node = snapshot.find(catalogNodes, 'name', catalogEntry(partition, given.node));
  const limit = CHECKED_SERVICES_AT_ONCE + 1;
  return node !== undefined && snapshot.list(catalogServices, 'node', node.row.uid, { limit }).length === limit;
}

function* apply(
  tx: Transaction,
  credentials: Credentials,
  context: RequestContext,
  given: Deregistration,
): Steps<void> {
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
    (serviceId === '' ? yield* removeCheck(tx, target, checkId) : removeService(tx, target, serviceId));
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
function* removeCheck(tx: Transaction, target: NodeTarget, checkId: string): Steps<boolean> {
  const { caller, partition, node } = target;
  const kept = node.row.checks.filter(({ id }) => id !== checkId);
  const ofNode = kept.length < node.row.checks.length && permitsAllServices(caller, 'write', partition);
  if (ofNode) tx.put(catalogNodes, { ...node.row, checks: kept });
  const onNode = yield* listInSlices(tx, catalogServices, 'node', node.row.uid);
  const own = yield* filterInSlices(
    onNode,
    (stored) => stored.row.checks.some(({ id }) => id === checkId) && mayChange(target, stored),
  );
  yield* visitInSlices(own, (stored) => removeServiceCheck(tx, stored, checkId));
  return ofNode || own.length > 0;
}

const mayChange = ({ caller, partition }: NodeTarget, { row }: Stored<CatalogService>): boolean =>
  permits(caller.grants, { resource: 'services', access: 'write', partition, name: row.service.name });

function removeServiceCheck(tx: Transaction, { row }: Stored<CatalogService>, checkId: string): void {
  tx.put(catalogServices, { ...row, checks: row.checks.filter(({ id }) => id !== checkId) });
  deleteTtlCheck(tx, row, checkId);
}
