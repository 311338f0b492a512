/**
 * The catalog queries: what a read returns from a snapshot, and which rows and index entries it depends on. Only the
 * result takes long. It is computed in slices, when the query does not have to wait.
 *
 * The reported index must never be too low. A service query therefore watches the instances (their rows contain the
 * checks) and the nodes that they are on. With more than `WATCHED_NODES_MAX` nodes it watches all nodes of the
 * partition ([SVC-43]). Switching between the two cannot lower the index, because the number of nodes changes only with
 * an instance, and that change is newer than every index reported before.
 */
import { partitionKey } from '../../../credentials/partition.ts';
import { filterInSlices, oneStep, type Steps, sortInSlices, visitInSlices } from '../../../state/clock/slices.ts';
import { LIST_ELEMENT_BYTES } from '../../../state/limits.ts';
import { listInSlices } from '../../../state/memory/reader.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State, Watched } from '../../../state/state.ts';
import type { Stored } from '../../../state/table.ts';
import { rowTopic, type Topic } from '../../../state/watch/change-notifier.ts';
import { nameEntry, type Peering, peerings } from '../../record/record.ts';
import { WATCHED_INSTANCES_MAX, WATCHED_NODES_MAX } from '../limits.ts';
import { catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { catalogServices } from '../tables/catalog-service.ts';
import { importedServiceKey, importedServices } from '../tables/imported-service.ts';
import {
  listServiceRows,
  type ResolvedInstance,
  type ResolvedNode,
  resolveImportedInstances,
  resolveInstances,
  resolveNode,
  sortInstances,
} from './resolved-instances.ts';

/** A query of the catalog: what its result depends on, and how to compute the result. */
export interface CatalogSource {
  readonly watched: readonly Watched[];
  /** Topics that wake a blocking query but do not count towards its index. */
  readonly alsoWake: readonly Topic[];
  /** Returns the steps that compute the result. Equal queries of one snapshot share it. */
  readonly content: () => Steps<CatalogContent>;
}

export interface CatalogContent {
  /** Sorted for a query of one service. Otherwise unsorted, because few callers need the order. */
  readonly instances: readonly ResolvedInstance[];
  /** Sorted by name. Empty for a query of one service. */
  readonly nodes: readonly ResolvedNode[];
}

export interface CatalogQuery {
  /** Spelled as at the creation of the partition. */
  readonly partition: string;
  /** Spelled as in the request. Undefined: the services of this cluster. */
  readonly peer: string | undefined;
}

const NOTHING: CatalogContent = { instances: [], nodes: [] };

const nothing = (): Steps<CatalogContent> => oneStep(() => NOTHING);

const bytesOf = ({ instances, nodes }: CatalogContent): number =>
  (instances.length + nodes.length) * LIST_ELEMENT_BYTES;

/** Returns a source whose result is computed once for each snapshot. */
function shared(snapshot: Snapshot, key: string, source: CatalogSource): CatalogSource {
  return { ...source, content: () => snapshot.memoizeInSlices(key, source.content, bytesOf) };
}

export function queryService(
  state: State,
  snapshot: Snapshot,
  { partition, peer }: CatalogQuery,
  service: string,
): CatalogSource {
  if (peer !== undefined) return queryImportedService(state, snapshot, { partition, peer }, service);
  const key = `service source\0${catalogEntry(partition, service)}`;
  return shared(snapshot, key, queryLocalService(state, snapshot, partition, service));
}

function queryLocalService(state: State, snapshot: Snapshot, partition: string, service: string): CatalogSource {
  const name = catalogEntry(partition, service);
  return {
    watched: [state.watchEntry(catalogServices, 'name', name), ...watchedNodes(state, snapshot, partition, name)],
    alsoWake: [],
    *content() {
      const rows = yield* listServiceRows(snapshot, partition, service);
      return { instances: yield* sortInstances(yield* resolveInstances(snapshot, rows)), nodes: [] };
    },
  };
}

/** Returns the nodes of a service, or all nodes of the partition if the service is large. */
function watchedNodes(state: State, snapshot: Snapshot, partition: string, name: string): readonly Watched[] {
  const rows = snapshot.list(catalogServices, 'name', name, { limit: WATCHED_INSTANCES_MAX + 1 });
  const uids = new Set(rows.map(({ row }) => row.node));
  if (uids.size <= WATCHED_NODES_MAX && rows.length <= WATCHED_INSTANCES_MAX)
    return [...uids].map((uid) => state.watchRow(catalogNodes, uid));
  return [state.watchEntry(catalogNodes, 'partition', partitionKey(partition))];
}

interface PeerQuery extends CatalogQuery {
  readonly peer: string;
}

function queryImportedService(state: State, snapshot: Snapshot, query: PeerQuery, service: string): CatalogSource {
  const peering = findPeer(snapshot, query);
  if (peering === undefined) return missingPeer(state, query);
  if (peering.row.state === 'TERMINATED') return terminatedPeer(state, peering);
  const key = importedServiceKey(peering.row.id, service);
  const stored = snapshot.get(importedServices, key);
  const scope = { partition: peering.row.partition, peer: peering.row.name };
  return {
    watched: [state.watchRow(importedServices, key)],
    alsoWake: [rowTopic(peerings, peering.row.id)],
    content: () =>
      oneStep(() =>
        stored === undefined ? NOTHING : { instances: resolveImportedInstances(stored, scope), nodes: [] },
      ),
  };
}

/** Queries everything registered in a partition, or everything imported from a peer. */
export function queryPartition(state: State, snapshot: Snapshot, { partition, peer }: CatalogQuery): CatalogSource {
  const key = `whole source\0${partitionKey(partition)}\0${peer?.toLowerCase() ?? ''}`;
  const source =
    peer === undefined
      ? queryLocalPartition(state, snapshot, partitionKey(partition))
      : queryPeer(state, snapshot, { partition, peer });
  return shared(snapshot, key, source);
}

const queryLocalPartition = (state: State, snapshot: Snapshot, partition: string): CatalogSource => ({
  watched: [
    state.watchEntry(catalogServices, 'partition', partition),
    state.watchEntry(catalogNodes, 'partition', partition),
  ],
  alsoWake: [],
  *content() {
    const nodes: ResolvedNode[] = [];
    const rows = yield* listInSlices(snapshot, catalogNodes, 'partition', partition);
    yield* visitInSlices(rows, (stored) => void nodes.push(resolveNode(snapshot, stored)));
    const services = yield* listInSlices(snapshot, catalogServices, 'partition', partition);
    return {
      instances: yield* resolveInstances(snapshot, services),
      nodes: yield* sortInSlices(nodes, compareNodeNames),
    };
  },
});

function queryPeer(state: State, snapshot: Snapshot, query: PeerQuery): CatalogSource {
  const peering = findPeer(snapshot, query);
  if (peering === undefined) return missingPeer(state, query);
  if (peering.row.state === 'TERMINATED') return terminatedPeer(state, peering);
  const { id, name, partition } = peering.row;
  const scope = { partition, peer: name };
  return {
    watched: [state.watchEntry(importedServices, 'peering', id)],
    alsoWake: [rowTopic(peerings, id)],
    *content() {
      const instances: ResolvedInstance[] = [];
      const nodes = new Map<string, ResolvedNode>();
      const rows = yield* listInSlices(snapshot, importedServices, 'peering', id);
      yield* visitInSlices(rows, (stored) => {
        for (const instance of resolveImportedInstances(stored, scope)) {
          instances.push(instance);
          const { resolvedNode } = instance;
          if (!nodes.has(resolvedNode.node.name)) nodes.set(resolvedNode.node.name, resolvedNode);
        }
      });
      return { instances, nodes: yield* sortInSlices([...nodes.values()], compareNodeNames) };
    },
  };
}

/** Queries one node with the instances on it. `nodes` is empty if the node is missing. */
export function queryNode(state: State, snapshot: Snapshot, query: CatalogQuery, name: string): CatalogSource {
  const { partition, peer } = query;
  if (peer !== undefined) return onNode(queryPartition(state, snapshot, query), name);
  const stored = snapshot.find(catalogNodes, 'name', catalogEntry(partition, name));
  if (stored === undefined) {
    const watched = [state.watchEntry(catalogNodes, 'partition', partitionKey(partition))];
    return { watched, alsoWake: [], content: nothing };
  }
  const { uid } = stored.row;
  return {
    watched: [state.watchRow(catalogNodes, uid), state.watchEntry(catalogServices, 'node', uid)],
    alsoWake: [],
    *content() {
      const rows = yield* listInSlices(snapshot, catalogServices, 'node', uid);
      return { instances: yield* resolveInstances(snapshot, rows), nodes: [resolveNode(snapshot, stored)] };
    },
  };
}

function onNode(whole: CatalogSource, name: string): CatalogSource {
  const wantedName = name.toLowerCase();
  return {
    ...whole,
    *content() {
      const { instances, nodes } = yield* whole.content();
      return {
        instances: yield* filterInSlices(instances, ({ instance }) => instance.node.name.toLowerCase() === wantedName),
        nodes: yield* filterInSlices(nodes, ({ node }) => node.name.toLowerCase() === wantedName),
      };
    },
  };
}

const findPeer = (snapshot: Snapshot, { partition, peer }: PeerQuery): Stored<Peering> | undefined =>
  snapshot.find(peerings, 'name', nameEntry(partition, peer));

/** The empty result for a missing peering. Wakes when a peering of the partition changes ([SVC-39]). */
const missingPeer = (state: State, { partition }: CatalogQuery): CatalogSource => ({
  watched: [state.watchEntry(peerings, 'partition', partitionKey(partition))],
  alsoWake: [],
  content: nothing,
});

/** The empty result for a `TERMINATED` peering, whose imported services are being removed. */
const terminatedPeer = (state: State, { row }: Stored<Peering>): CatalogSource => ({
  watched: [state.watchRow(peerings, row.id)],
  alsoWake: [],
  content: nothing,
});

function compareNodeNames({ node: a }: ResolvedNode, { node: b }: ResolvedNode): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
