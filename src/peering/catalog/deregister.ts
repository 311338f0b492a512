/**
 * `PUT /v1/catalog/deregister`: takes away a check, a service with its checks, or a node with everything on it.
 * Idempotent: what is not there is away.
 */
import { authorize, type Caller, lacks } from '../../credentials/caller.ts';
import { type Asked, type Credentials, locate } from '../../credentials/operation.ts';
import { existingPartition } from '../../credentials/request-partition.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/transaction.ts';
import type { DeregistrationBody } from './bodies.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from './catalog-node.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from './catalog-service.ts';
import { checkDatacenter, deleteService, deleteTtl } from './change-catalog.ts';
import { type Deregistration, namingPartition, readDeregistration } from './read-registration.ts';
import { authorizeSome, permitsAll } from './visible.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function deregister(credentials: Credentials, asked: Asked, body: DeregistrationBody): Promise<true> {
  const deregistration = readDeregistration(body);
  const named = namingPartition(asked, body);
  await credentials.state.write((tx) => apply(tx, credentials, named, deregistration));
  return true;
}

function apply(tx: Transaction, credentials: Credentials, asked: Asked, given: Deregistration): void {
  const { caller, partition: named } = locate(credentials, tx, asked);
  const { serviceId, checkId } = given;
  authorizeSome(caller, 'write', named);
  const wholeNode = serviceId === '' && checkId === '';
  if (wholeNode) authorizeAll(caller, named);
  const partition = existingPartition(tx, named);
  checkDatacenter(tx, given.datacenter);
  const node = tx.find(catalogNodes, 'name', catalogEntry(partition, given.node));
  if (node === undefined) return;
  if (wholeNode) tx.delete(catalogNodes, node.row.uid);
  else if (serviceId === '') removeCheck(tx, { caller, partition, node }, checkId);
  else removeService(tx, { caller, partition, node }, serviceId);
}

interface On {
  readonly caller: Caller;
  readonly partition: string;
  readonly node: Stored<CatalogNode>;
}

function removeService(tx: Transaction, { caller, partition, node }: On, serviceId: string): void {
  const stored = tx.get(catalogServices, catalogServiceKey(node.row.uid, serviceId));
  if (stored === undefined) return;
  authorize(caller, { resource: 'services', access: 'write', partition, name: stored.row.service.name });
  deleteService(tx, stored);
}

/** A check of the node, and one of each service on it that calls its check so. */
function removeCheck(tx: Transaction, { caller, partition, node }: On, checkId: string): void {
  const { row } = node;
  const kept = row.checks.filter(({ id }) => id !== checkId);
  if (kept.length < row.checks.length) {
    authorizeAll(caller, partition);
    tx.put(catalogNodes, { ...row, checks: kept });
  }
  for (const stored of tx.list(catalogServices, 'node', row.uid)) {
    if (stored.row.checks.some(({ id }) => id === checkId))
      removeServiceCheck(tx, { caller, partition, node }, stored, checkId);
  }
}

function removeServiceCheck(
  tx: Transaction,
  { caller, partition }: On,
  { row }: Stored<CatalogService>,
  checkId: string,
): void {
  authorize(caller, { resource: 'services', access: 'write', partition, name: row.service.name });
  tx.put(catalogServices, { ...row, checks: row.checks.filter(({ id }) => id !== checkId) });
  deleteTtl(tx, row, checkId);
}

function authorizeAll(caller: Caller, partition: string): void {
  if (!permitsAll(caller, 'write', partition)) throw lacks(caller, { resource: 'services', access: 'write' });
}
