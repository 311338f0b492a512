/**
 * The local agent: services that live and die with a server. They are in the catalog like all others, on a node that
 * has the server's name, one in each partition where something was registered with it.
 */
import { randomUUID } from 'node:crypto';
import type { Caller } from '../../../credentials/caller.ts';
import type { Access } from '../../../credentials/grant.ts';
import { type Asked, type Credentials, locate } from '../../../credentials/operation.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { Stored } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { authorizeAll, authorizeSome, permitsAll } from '../query/visibility.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';

/** The server as a node. */
export interface AgentNode {
  /** The server's name. */
  readonly name: string;
  /** Where it is shown. */
  readonly address: string;
  /** Services that say no address of their own are reached there as well; else they must say one. */
  readonly isServiceAddress: boolean;
}

/** What the operations of the agent stand on. */
export interface Agent {
  readonly credentials: Credentials;
  readonly node: AgentNode;
}

export interface AtAgent {
  readonly caller: Caller;
  /** As it was first named. */
  readonly partition: string;
  /** Undefined: nothing was registered there with it, or the node was taken away. */
  readonly stored: Stored<CatalogNode> | undefined;
}

/** The agent's node in the partition of the request. @throws ServiceError `bad-request` | `permission-denied` */
export function findAgent({ credentials, node }: Agent, reader: Reader, asked: Asked, access: Access): AtAgent {
  const { caller, partition: named } = locate(credentials, reader, asked);
  authorizeSome(caller, access, named);
  const partition = existingPartition(reader, named);
  return { caller, partition, stored: reader.find(catalogNodes, 'name', catalogEntry(partition, node.name)) };
}

/**
 * Makes the agent's node, or makes a node of its name its own. The latter, and bringing it back to where the server is,
 * concerns whatever is on it: who may not change every service leaves the agent's node where it is, and takes over none.
 * @returns the node's `uid`
 * @throws ServiceError `permission-denied`
 */
export function putAgentNode(
  tx: Transaction,
  { name, address }: AgentNode,
  { caller, partition, stored }: AtAgent,
): string {
  if (stored === undefined) {
    const uid = tx.once(randomUUID);
    const row = { uid, name, partition, address, id: '', taggedAddresses: {}, meta: {}, checks: [], agent: name };
    tx.put(catalogNodes, row);
    return uid;
  }
  const { row } = stored;
  const isOwn = row.agent === name;
  if (isOwn && (row.address === address || !permitsAll(caller, 'write', partition))) return row.uid;
  authorizeAll(caller, partition);
  tx.put(catalogNodes, { ...row, address, agent: name });
  return row.uid;
}

/** The refusal of a service that the agent does not have. */
export const unknownService = (id: string): ServiceError =>
  new ServiceError(
    'not-found',
    `Unknown service ID ${JSON.stringify(id)}. Ensure that the service ID is passed, not the service name.`,
  );

/** The refusal of a check that the agent does not have. */
export const unknownCheck = (id: string): ServiceError =>
  new ServiceError(
    'not-found',
    `Unknown check ID ${JSON.stringify(id)}. Ensure that the check ID is passed, not the check name.`,
  );
