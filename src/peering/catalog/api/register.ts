/**
 * `PUT /v1/catalog/register`: puts a node, a service on it and checks of both into one commit. What is already as the
 * request says stays untouched: a registration that is sent again and again costs no write and wakes nobody.
 */
import { randomUUID } from 'node:crypto';
import { authorize, type Caller } from '../../../credentials/caller.ts';
import { type Asked, type Credentials, locate, writeFor } from '../../../credentials/operation.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import type { ServiceError } from '../../../http/errors.ts';
import type { DeepReadonly, Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { boundedChecks, checkDatacenter, putService } from '../change-catalog.ts';
import { absent, authorizeAll, authorizeSome } from '../query/visibility.ts';
import { refused } from '../read-fields.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { withChecks } from '../tables/check.ts';
import type { InstanceService } from '../tables/instance.ts';
import type { RegistrationBody } from './bodies.ts';
import { namingPartition, type Registration, readRegistration } from './read-registration.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function register(credentials: Credentials, asked: Asked, body: RegistrationBody): Promise<true> {
  const registration = readRegistration(body);
  const named = namingPartition(asked, body);
  await writeFor(credentials, asked, (tx) => apply(tx, credentials, named, registration));
  return true;
}

function apply(tx: Transaction, credentials: Credentials, asked: Asked, registration: Registration): void {
  const { caller, partition: named } = locate(credentials, tx, asked);
  const { service, checks, datacenter } = registration;
  authorizeSome(caller, 'write', named);
  if (service !== undefined) authorizeName(caller, named, service.name);
  const partition = existingPartition(tx, named);
  checkDatacenter(tx, datacenter);
  const standing = tx.find(catalogNodes, 'name', catalogEntry(partition, registration.node.name));
  const node = putNode(tx, { caller, partition, standing }, registration);
  if (service !== undefined) {
    // Its ID may stand for another service by now, which is replaced.
    const replaced = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row.service.name;
    if (replaced !== undefined && replaced !== service.name) authorizeName(caller, partition, replaced);
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
    if (stored === undefined) throw absent(caller, partition, unregistered(group.serviceId, registration.node.name));
    const { row } = stored;
    authorizeName(caller, partition, row.service.name);
    putService(tx, { node, partition }, row.service as DeepReadonly<InstanceService>, group.checks);
  }
}

interface NodeChange {
  readonly caller: Caller;
  readonly partition: string;
  readonly standing: Stored<CatalogNode> | undefined;
}

/** @returns the node's `uid` */
function putNode(tx: Transaction, { caller, partition, standing }: NodeChange, registration: Registration): string {
  const { node, skipNode } = registration;
  const given = registration.checks.find(({ serviceId }) => serviceId === '')?.checks ?? [];
  if (standing === undefined) {
    if (skipNode && node.address === '') throw refused(`there is no node "${node.name}" yet: give its address`);
    // Who may register some service may do so on a node of its own; what it says of a whole node concerns others.
    if (given.length > 0 || registration.service === undefined) authorizeAll(caller, partition);
    const uid = tx.once(randomUUID);
    tx.put(catalogNodes, { uid, partition, ...node, checks: withChecks([], given) });
    return uid;
  }
  const { row } = standing;
  const checks = boundedChecks(withChecks(row.checks, given));
  // An ID or a name without its address is no change: it says which node is meant.
  const next = skipNode ? row : { ...row, ...node, name: row.name, id: node.id || row.id };
  if (checks === row.checks && (skipNode || givenText(row) === givenText(next))) return row.uid;
  authorizeAll(caller, partition);
  tx.put(catalogNodes, { ...next, checks });
  return row.uid;
}

/** What a registration can change of a node. */
const givenText = ({ address, id, taggedAddresses, meta }: DeepReadonly<CatalogNode>): string =>
  JSON.stringify([address, id, taggedAddresses, meta]);

const unregistered = (serviceId: string, node: string): ServiceError =>
  refused(`Missing service registration: there is no service "${serviceId}" on node "${node}"`);

const authorizeName = (caller: Caller, partition: string, name: string): void =>
  authorize(caller, { resource: 'services', access: 'write', partition, name });
