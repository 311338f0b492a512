/**
 * `PUT /v1/catalog/deregister`: takes away a check, a service with its checks, or a node with everything on it.
 * Idempotent: what is not there is away. But who may write only some services gets 403 for what is not there, as for what
 * is another's, and so also when it takes its own away a second time: no answer tells which of them there are.
 */
import type { Caller } from '../../../credentials/caller.ts';
import { permits } from '../../../credentials/grant.ts';
import { type Asked, type Credentials, locate, writeFor } from '../../../credentials/operation.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import type { Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { checkDatacenter, deleteService, deleteTtl } from '../change-catalog.ts';
import { authorizeAll, authorizeSome, permitsAll } from '../query/visibility.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import type { DeregistrationBody } from './bodies.ts';
import { type Deregistration, namingPartition, readDeregistration } from './read-registration.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function deregister(credentials: Credentials, asked: Asked, body: DeregistrationBody): Promise<true> {
  const deregistration = readDeregistration(body);
  const named = namingPartition(asked, body);
  await writeFor(credentials, asked, (tx) => apply(tx, credentials, named, deregistration));
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
  if (wholeNode) {
    if (node !== undefined) tx.delete(catalogNodes, node.row.uid);
    return;
  }
  const on = node && { caller, partition, node };
  const removed =
    on !== undefined && (serviceId === '' ? removeCheck(tx, on, checkId) : removeService(tx, on, serviceId));
  // What is not there is away; who may not take away every service is told the same as of another's.
  if (!removed) authorizeAll(caller, partition);
}

interface On {
  readonly caller: Caller;
  readonly partition: string;
  readonly node: Stored<CatalogNode>;
}

/** @returns whether there was such a service that the caller may take away */
function removeService(tx: Transaction, on: On, serviceId: string): boolean {
  const stored = tx.get(catalogServices, catalogServiceKey(on.node.row.uid, serviceId));
  if (stored === undefined || !mayChange(on, stored)) return false;
  deleteService(tx, stored);
  return true;
}

/**
 * A check of the node, and one of each service on it that calls its check so, as far as they are the caller's to change.
 * @returns whether there was one
 */
function removeCheck(tx: Transaction, on: On, checkId: string): boolean {
  const { caller, partition, node } = on;
  const kept = node.row.checks.filter(({ id }) => id !== checkId);
  const ofNode = kept.length < node.row.checks.length && permitsAll(caller, 'write', partition);
  if (ofNode) tx.put(catalogNodes, { ...node.row, checks: kept });
  const own = tx
    .list(catalogServices, 'node', node.row.uid)
    .filter((stored) => stored.row.checks.some(({ id }) => id === checkId) && mayChange(on, stored));
  for (const stored of own) removeServiceCheck(tx, stored, checkId);
  return ofNode || own.length > 0;
}

const mayChange = ({ caller, partition }: On, { row }: Stored<CatalogService>): boolean =>
  permits(caller.grants, { resource: 'services', access: 'write', partition, name: row.service.name });

function removeServiceCheck(tx: Transaction, { row }: Stored<CatalogService>, checkId: string): void {
  tx.put(catalogServices, { ...row, checks: row.checks.filter(({ id }) => id !== checkId) });
  deleteTtl(tx, row, checkId);
}
