/**
 * The local agent, which registers services whose health depends on this server. It has a node with the server's name
 * in each partition where a service was registered with it ([SVC-44]).
 */
import { randomUUID } from 'node:crypto';
import type { Access } from '../../../credentials/acl-token.ts';
import { type Caller, type Credentials, type RequestContext, resolveCaller } from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { authorizeAllServices, authorizeAnyService, permitsAllServices } from '../query/visibility.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';

export interface AgentNode {
  readonly name: string;
  readonly address: string;
  /**
   * Whether services without an address can use that of the node. False if the server listens on a wildcard address.
   */
  readonly isServiceAddress: boolean;
}

export interface Agent {
  readonly credentials: Credentials;
  readonly node: AgentNode;
}

export interface AgentTarget {
  readonly caller: Caller;
  /** Spelled as at the creation of the partition. */
  readonly partition: string;
  /** Undefined if the agent has no node in the partition, or the node was deleted. */
  readonly stored: Stored<CatalogNode> | undefined;
}

/** Finds the agent's node in the partition of the request. @throws ServiceError `bad-request` | `permission-denied` */
export function resolveAgentTarget(
  { credentials, node }: Agent,
  reader: Reader,
  context: RequestContext,
  access: Access,
): AgentTarget {
  const { caller, partition: namedPartition } = resolveCaller(credentials, reader, context);
  authorizeAnyService(caller, access, namedPartition);
  const partition = existingPartition(reader, namedPartition);
  return { caller, partition, stored: reader.find(catalogNodes, 'name', catalogEntry(partition, node.name)) };
}

/**
 * Creates the agent's node, or takes over an existing node with its name. A takeover affects every service on the node,
 * so it requires a grant without names ([SVC-46]). So does a correction of the node's address; without that grant the
 * address stays as it is.
 * @returns the node's `uid`
 * @throws ServiceError `permission-denied`
 */
export function putAgentNode(
  tx: Transaction,
  { name, address }: AgentNode,
  { caller, partition, stored }: AgentTarget,
): string {
  if (stored === undefined) {
    const uid = tx.memoizeAcrossRetries(randomUUID);
    const row = { uid, name, partition, address, id: '', taggedAddresses: {}, meta: {}, checks: [], agent: name };
    tx.put(catalogNodes, row);
    return uid;
  }
  const { row } = stored;
  const isOwn = row.agent === name;
  if (isOwn && (row.address === address || !permitsAllServices(caller, 'write', partition))) return row.uid;
  authorizeAllServices(caller, partition);
  tx.put(catalogNodes, { ...row, address, agent: name });
  return row.uid;
}

/** Returns the error for a missing service ([SVC-60]). */
export const unknownService = (id: string): ServiceError =>
  new ServiceError(
    'not-found',
    `Unknown service ID ${JSON.stringify(id)}. Ensure that the service ID is passed, not the service name.`,
  );

/** Returns the error for a missing check ([SVC-60]). */
export const unknownCheck = (id: string): ServiceError =>
  new ServiceError(
    'not-found',
    `Unknown check ID ${JSON.stringify(id)}. Ensure that the check ID is passed, not the check name.`,
  );
