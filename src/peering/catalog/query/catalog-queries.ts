/**
 * The catalog queries: what a read returns from a snapshot, and which rows and index entries it depends on. Equal
 * queries of one snapshot share one evaluation.
 *
 * The reported index must never be too low. A service query therefore watches the instances (their rows contain the
 * checks) and the nodes that they are on. With more than `WATCHED_NODES_MAX` nodes it watches all nodes of the
 * partition ([SVC-43]). Switching between the two cannot lower the index, because the number of nodes changes only with
 * an instance, and that change is newer than every index reported before.
 */
import { partitionKey } from '../../../credentials/partition.ts';
import { LIST_ELEMENT_BYTES } from '../../../state/limits.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State, Watched } from '../../../state/state.ts';
import type { Stored } from '../../../state/table.ts';
import { rowTopic, type Topic } from '../../../state/watch/change-notifier.ts';
import { nameEntry, type Peering, peerings } from '../../record/record.ts';
import { WATCHED_NODES_MAX } from '../limits.ts';
import { catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { catalogServices } from '../tables/catalog-service.ts';
import { importedServiceKey, importedServices } from '../tables/imported-service.ts';
import {
  listServiceRows,
  type ResolvedInstance,
  type ResolvedNode,
  resolveImportedInstances,
  resolveInstances,
  resolveInstancesOnNode,
  resolveNode,
  sortInstances,
} from './resolved-instances.ts';

export interface InstancesResult {
  /** Sorted for a query of one service. Otherwise unsorted, because few callers need the order. */
  readonly instances: readonly ResolvedInstance[];
  readonly watched: readonly Watched[];
  /** Topics that wake a blocking query but do not count towards its index. */
  readonly alsoWake: readonly Topic[];
}

export interface CatalogResult extends InstancesResult {
  readonly nodes: readonly ResolvedNode[];
}

export interface CatalogQuery {
  /** Spelled as at the creation of the partition. */
  readonly partition: string;
  /** Spelled as in the request. Undefined: the services of this cluster. */
  readonly peer: string | undefined;
}

const bytesOf = ({ instances, watched }: InstancesResult): number =>
  (instances.length + watched.length) * LIST_ELEMENT_BYTES;

export function queryService(
  state: State,
  snapshot: Snapshot,
  { partition, peer }: CatalogQuery,
  service: string,
): InstancesResult {
  const key = `service source\0${catalogEntry(partition, service)}\0${peer?.toLowerCase() ?? ''}`;
  const evaluate = (): InstancesResult =>
    peer === undefined
      ? queryLocalService(state, snapshot, partition, service)
      : queryImportedService(state, snapshot, { partition, peer }, service);
  return snapshot.memoize(key, evaluate, bytesOf);
}

function queryLocalService(state: State, snapshot: Snapshot, partition: string, service: string): InstancesResult {
  const services = listServiceRows(snapshot, partition, service);
  const uids = new Set(services.map(({ row }) => row.node));
  const nodes =
    uids.size > WATCHED_NODES_MAX
      ? [state.watchEntry(catalogNodes, 'partition', partitionKey(partition))]
      : [...uids].map((uid) => state.watchRow(catalogNodes, uid));
  const entry = state.watchEntry(catalogServices, 'name', catalogEntry(partition, service));
  return { instances: sortInstances(resolveInstances(snapshot, services)), watched: [entry, ...nodes], alsoWake: [] };
}

interface PeerQuery extends CatalogQuery {
  readonly peer: string;
}

function queryImportedService(state: State, snapshot: Snapshot, query: PeerQuery, service: string): InstancesResult {
  const peering = findPeer(snapshot, query);
  if (peering === undefined) return missingPeerResult(state, query);
  if (peering.row.state === 'TERMINATED') return terminatedPeerResult(state, peering);
  const key = importedServiceKey(peering.row.id, service);
  const stored = snapshot.get(importedServices, key);
  const scope = { partition: peering.row.partition, peer: peering.row.name };
  return {
    instances: stored === undefined ? [] : resolveImportedInstances(stored, scope),
    watched: [state.watchRow(importedServices, key)],
    alsoWake: [rowTopic(peerings, peering.row.id)],
  };
}

/** Returns everything registered in a partition, or everything imported from a peer. */
export function queryPartition(state: State, snapshot: Snapshot, { partition, peer }: CatalogQuery): CatalogResult {
  const key = `whole source\0${partitionKey(partition)}\0${peer?.toLowerCase() ?? ''}`;
  const evaluate = (): CatalogResult =>
    peer === undefined
      ? queryLocalPartition(state, snapshot, partitionKey(partition))
      : queryPeer(state, snapshot, { partition, peer });
  return snapshot.memoize(key, evaluate, (source) => bytesOf(source) + source.nodes.length * LIST_ELEMENT_BYTES);
}

function queryLocalPartition(state: State, snapshot: Snapshot, partition: string): CatalogResult {
  const nodes = snapshot.list(catalogNodes, 'partition', partition).map((stored) => resolveNode(snapshot, stored));
  return {
    instances: resolveInstances(snapshot, snapshot.list(catalogServices, 'partition', partition)),
    nodes: nodes.sort(compareNodeNames),
    watched: [
      state.watchEntry(catalogServices, 'partition', partition),
      state.watchEntry(catalogNodes, 'partition', partition),
    ],
    alsoWake: [],
  };
}

function queryPeer(state: State, snapshot: Snapshot, query: PeerQuery): CatalogResult {
  const peering = findPeer(snapshot, query);
  if (peering === undefined) return { ...missingPeerResult(state, query), nodes: [] };
  if (peering.row.state === 'TERMINATED') return { ...terminatedPeerResult(state, peering), nodes: [] };
  const { id, name, partition } = peering.row;
  const scope = { partition, peer: name };
  const services = snapshot.list(importedServices, 'peering', id);
  const instances = services.flatMap((stored) => resolveImportedInstances(stored, scope));
  const nodes = new Map<string, ResolvedNode>();
  for (const { resolvedNode } of instances)
    if (!nodes.has(resolvedNode.node.name)) nodes.set(resolvedNode.node.name, resolvedNode);
  return {
    instances,
    nodes: [...nodes.values()].sort(compareNodeNames),
    watched: [state.watchEntry(importedServices, 'peering', id)],
    alsoWake: [rowTopic(peerings, id)],
  };
}

/** Returns one node with the instances on it. `nodes` is empty if the node is missing. */
export function queryNode(state: State, snapshot: Snapshot, query: CatalogQuery, name: string): CatalogResult {
  const { partition, peer } = query;
  if (peer !== undefined) return filterByNode(queryPartition(state, snapshot, query), name);
  const stored = snapshot.find(catalogNodes, 'name', catalogEntry(partition, name));
  if (stored === undefined) {
    const watched = [state.watchEntry(catalogNodes, 'partition', partitionKey(partition))];
    return { instances: [], nodes: [], watched, alsoWake: [] };
  }
  return {
    instances: resolveInstancesOnNode(snapshot, stored),
    nodes: [resolveNode(snapshot, stored)],
    watched: [state.watchRow(catalogNodes, stored.row.uid), state.watchEntry(catalogServices, 'node', stored.row.uid)],
    alsoWake: [],
  };
}

function filterByNode(whole: CatalogResult, name: string): CatalogResult {
  const wantedName = name.toLowerCase();
  return {
    ...whole,
    instances: whole.instances.filter(({ instance }) => instance.node.name.toLowerCase() === wantedName),
    nodes: whole.nodes.filter(({ node }) => node.name.toLowerCase() === wantedName),
  };
}

const findPeer = (snapshot: Snapshot, { partition, peer }: PeerQuery): Stored<Peering> | undefined =>
  snapshot.find(peerings, 'name', nameEntry(partition, peer));

/** The empty result for a missing peering. Wakes when a peering of the partition changes ([SVC-39]). */
const missingPeerResult = (state: State, { partition }: CatalogQuery): InstancesResult => ({
  instances: [],
  watched: [state.watchEntry(peerings, 'partition', partitionKey(partition))],
  alsoWake: [],
});

/** The empty result for a `TERMINATED` peering, whose imported services are being removed. */
const terminatedPeerResult = (state: State, { row }: Stored<Peering>): InstancesResult => ({
  instances: [],
  watched: [state.watchRow(peerings, row.id)],
  alsoWake: [],
});

function compareNodeNames({ node: a }: ResolvedNode, { node: b }: ResolvedNode): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
