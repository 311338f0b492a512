/**
 * `PUT /v1/catalog/register`: writes a node, a service on it and checks of both in one commit ([SVC-6]). A repeated
 * registration writes nothing and wakes no blocking query ([SVC-18]).
 */
import { randomUUID } from 'node:crypto';
import {
  authorize,
  type Caller,
  type Credentials,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import type { ServiceError } from '../../../http/errors.ts';
import type { DeepReadonly, Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { checkDatacenter, enforceChecksMax, putService } from '../change-catalog.ts';
import { authorizeAllServices, authorizeAnyService, missingOrDenied, permitsAllServices } from '../query/visibility.ts';
import { badRequest } from '../read-fields.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { mergeChecks } from '../tables/check.ts';
import type { InstanceService } from '../tables/instance.ts';
import { type Registration, readRegistration, withNamedPartition } from './read-registration.ts';
import type { RegistrationBody } from './request-schemas.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function register(
  credentials: Credentials,
  context: RequestContext,
  body: RegistrationBody,
): Promise<true> {
  const registration = readRegistration(body);
  const scopedContext = withNamedPartition(context, body);
  await writeForRequest(credentials, context, (tx) => apply(tx, credentials, scopedContext, registration));
  return true;
}

function apply(tx: Transaction, credentials: Credentials, context: RequestContext, registration: Registration): void {
  const { caller, partition: namedPartition } = resolveCaller(credentials, tx, context);
  const { service, checks, datacenter } = registration;
  authorizeAnyService(caller, 'write', namedPartition);
  if (service !== undefined) authorizeService(caller, namedPartition, service.name);
  const partition = existingPartition(tx, namedPartition);
  checkDatacenter(tx, datacenter);
  const existing = tx.find(catalogNodes, 'name', catalogEntry(partition, registration.node.name));
  if (existing !== undefined && service !== undefined) authorizeJoin(tx, caller, existing, service);
  const node = putNode(tx, { caller, partition, existing }, registration);
  if (service !== undefined) {
    // The ID may belong to a service with another name, which this registration replaces.
    const replaced = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row.service.name;
    if (replaced !== undefined && replaced !== service.name) authorizeService(caller, partition, replaced);
    putService(
      tx,
      { node, partition },
      service,
      checks.find(({ serviceId }) => serviceId === service.id)?.checks ?? [],
    );
  }
  for (const group of checks) {
    if (group.serviceId === '' || group.serviceId === service?.id) continue;
    const stored = tx.get(catalogServices, catalogServiceKey(node, group.serviceId));
    if (stored === undefined)
      throw missingOrDenied(caller, partition, serviceNotRegistered(group.serviceId, registration.node.name));
    const { row } = stored;
    authorizeService(caller, partition, row.service.name);
    putService(tx, { node, partition }, row.service as DeepReadonly<InstanceService>, group.checks);
  }
}

/**
 * Authorizes a service that is new on a node. A caller who may read one service of a node sees the node, so the caller
 * must be able to write every service on it, and every service of the partition if the node has checks of its own
 * ([SVC-113]). A grant with names then cannot join the node of another caller to read it.
 */
function authorizeJoin(
  tx: Transaction,
  caller: Caller,
  { row }: Stored<CatalogNode>,
  { id, name }: DeepReadonly<InstanceService>,
): void {
  if (permitsAllServices(caller, 'write', row.partition)) return;
  const onNode = tx.list(catalogServices, 'node', row.uid).map((stored) => stored.row.service);
  if (onNode.some((one) => one.id === id && one.name.toLowerCase() === name.toLowerCase())) return;
  if (row.checks.length > 0) authorizeAllServices(caller, row.partition);
  for (const one of onNode) authorizeService(caller, row.partition, one.name);
}

interface NodeTarget {
  readonly caller: Caller;
  readonly partition: string;
  readonly existing: Stored<CatalogNode> | undefined;
}

/** @returns the node's `uid` */
function putNode(tx: Transaction, { caller, partition, existing }: NodeTarget, registration: Registration): string {
  const { node, skipNode } = registration;
  const given = registration.checks.find(({ serviceId }) => serviceId === '')?.checks ?? [];
  if (existing === undefined) {
    if (skipNode && node.address === '') throw badRequest(`there is no node "${node.name}" yet: give its address`);
    // A grant with names suffices to create a node for a service, but not for checks of the whole node ([SVC-23]).
    if (given.length > 0 || registration.service === undefined) authorizeAllServices(caller, partition);
    const uid = tx.memoizeAcrossRetries(randomUUID);
    tx.put(catalogNodes, { uid, partition, ...node, checks: mergeChecks([], given) });
    return uid;
  }
  const { row } = existing;
  const checks = enforceChecksMax(mergeChecks(row.checks, given));
  // The spelling of the name and a missing ID identify the node and change nothing.
  const next = skipNode ? row : { ...row, ...node, name: row.name, id: node.id || row.id };
  if (checks === row.checks && (skipNode || nodeFieldsText(row) === nodeFieldsText(next))) return row.uid;
  authorizeAllServices(caller, partition);
  tx.put(catalogNodes, { ...next, checks });
  return row.uid;
}

const nodeFieldsText = ({ address, id, taggedAddresses, meta }: DeepReadonly<CatalogNode>): string =>
  JSON.stringify([address, id, taggedAddresses, meta]);

const serviceNotRegistered = (serviceId: string, node: string): ServiceError =>
  badRequest(`Missing service registration: there is no service "${serviceId}" on node "${node}"`);

const authorizeService = (caller: Caller, partition: string, name: string): void =>
  authorize(caller, { resource: 'services', access: 'write', partition, name });
