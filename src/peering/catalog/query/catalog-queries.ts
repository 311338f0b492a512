/**
 * Where reads look, and what their answers depend on. What a snapshot holds is gathered once for all who ask for the
 * same of it.
 *
 * An index must never be too low. So a service is waited for with its instances (their row has the checks) and with the
 * nodes that they are on; past a number of nodes with all of the partition. From one to the other the index cannot
 * fall: the number changes by a change of the instances, which is newer than anything told before.
 */
import { partitionKey } from '../../../credentials/partition.ts';
import { MEMO_ENTRY_BYTES } from '../../../state/limits.ts';
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
  type FoundInstance,
  type FoundNode,
  foundNode,
  importedInstances,
  inOrder,
  instancesOnNode,
  onNodes,
  servicesNamed,
} from './resolved-instances.ts';

/** What an answer is made of, and what it depends on. */
export interface Source {
  /** Of one service in order; of many in none, which would cost much and serve few. */
  readonly instances: readonly FoundInstance[];
  readonly watched: readonly Watched[];
  /** What else makes it another one, without counting for the index. */
  readonly alsoWake: readonly Topic[];
}

/** A whole partition, or a node of one. */
export interface NodeSource extends Source {
  readonly nodes: readonly FoundNode[];
}

/** Where to look. */
export interface Sought {
  /** As it was first named. */
  readonly partition: string;
  /** As it was asked for; undefined: what was registered here. */
  readonly peer: string | undefined;
}

const bytesOf = ({ instances, watched }: Source): number => (instances.length + watched.length) * MEMO_ENTRY_BYTES;

/** The instances of a service. */
export function serviceSource(state: State, snapshot: Snapshot, { partition, peer }: Sought, service: string): Source {
  const key = `service source\0${catalogEntry(partition, service)}\0${peer?.toLowerCase() ?? ''}`;
  const make = (): Source =>
    peer === undefined
      ? localService(state, snapshot, partition, service)
      : importedService(state, snapshot, { partition, peer }, service);
  return snapshot.memo(key, make, bytesOf);
}

function localService(state: State, snapshot: Snapshot, partition: string, service: string): Source {
  const services = servicesNamed(snapshot, partition, service);
  const uids = new Set(services.map(({ row }) => row.node));
  const nodes =
    uids.size > WATCHED_NODES_MAX
      ? [state.watchEntry(catalogNodes, 'partition', partitionKey(partition))]
      : [...uids].map((uid) => state.watchRow(catalogNodes, uid));
  const entry = state.watchEntry(catalogServices, 'name', catalogEntry(partition, service));
  return { instances: inOrder(onNodes(snapshot, services)), watched: [entry, ...nodes], alsoWake: [] };
}

interface SoughtAtPeer extends Sought {
  readonly peer: string;
}

function importedService(state: State, snapshot: Snapshot, sought: SoughtAtPeer, service: string): Source {
  const peering = findPeer(snapshot, sought);
  if (peering === undefined) return unknownPeer(state, sought);
  if (peering.row.state === 'TERMINATED') return endedPeer(state, peering);
  const key = importedServiceKey(peering.row.id, service);
  const stored = snapshot.get(importedServices, key);
  const place = { partition: peering.row.partition, peer: peering.row.name };
  return {
    instances: stored === undefined ? [] : importedInstances(stored, place),
    watched: [state.watchRow(importedServices, key)],
    alsoWake: [rowTopic(peerings, peering.row.id)],
  };
}

/** Everything in a partition, or everything that came from a peer. */
export function wholeSource(state: State, snapshot: Snapshot, { partition, peer }: Sought): NodeSource {
  const key = `whole source\0${partitionKey(partition)}\0${peer?.toLowerCase() ?? ''}`;
  const make = (): NodeSource =>
    peer === undefined
      ? localPartition(state, snapshot, partitionKey(partition))
      : wholePeer(state, snapshot, { partition, peer });
  return snapshot.memo(key, make, (source) => bytesOf(source) + source.nodes.length * MEMO_ENTRY_BYTES);
}

function localPartition(state: State, snapshot: Snapshot, partition: string): NodeSource {
  const nodes = snapshot.list(catalogNodes, 'partition', partition).map((stored) => foundNode(snapshot, stored));
  return {
    instances: onNodes(snapshot, snapshot.list(catalogServices, 'partition', partition)),
    nodes: nodes.sort(byName),
    watched: [
      state.watchEntry(catalogServices, 'partition', partition),
      state.watchEntry(catalogNodes, 'partition', partition),
    ],
    alsoWake: [],
  };
}

function wholePeer(state: State, snapshot: Snapshot, sought: SoughtAtPeer): NodeSource {
  const peering = findPeer(snapshot, sought);
  if (peering === undefined) return { ...unknownPeer(state, sought), nodes: [] };
  if (peering.row.state === 'TERMINATED') return { ...endedPeer(state, peering), nodes: [] };
  const { id, name, partition } = peering.row;
  const place = { partition, peer: name };
  const services = snapshot.list(importedServices, 'peering', id);
  const instances = services.flatMap((stored) => importedInstances(stored, place));
  const nodes = new Map<string, FoundNode>();
  for (const { on } of instances) if (!nodes.has(on.node.name)) nodes.set(on.node.name, on);
  return {
    instances,
    nodes: [...nodes.values()].sort(byName),
    watched: [state.watchEntry(importedServices, 'peering', id)],
    alsoWake: [rowTopic(peerings, id)],
  };
}

/** One node with what is on it; without nodes when it is not there. */
export function nodeSource(state: State, snapshot: Snapshot, sought: Sought, name: string): NodeSource {
  const { partition, peer } = sought;
  if (peer !== undefined) return nodeOfPeer(wholeSource(state, snapshot, sought), name);
  const stored = snapshot.find(catalogNodes, 'name', catalogEntry(partition, name));
  if (stored === undefined) {
    const watched = [state.watchEntry(catalogNodes, 'partition', partitionKey(partition))];
    return { instances: [], nodes: [], watched, alsoWake: [] };
  }
  return {
    instances: instancesOnNode(snapshot, stored),
    nodes: [foundNode(snapshot, stored)],
    watched: [state.watchRow(catalogNodes, stored.row.uid), state.watchEntry(catalogServices, 'node', stored.row.uid)],
    alsoWake: [],
  };
}

function nodeOfPeer(whole: NodeSource, name: string): NodeSource {
  const wanted = name.toLowerCase();
  return {
    ...whole,
    instances: whole.instances.filter(({ instance }) => instance.node.name.toLowerCase() === wanted),
    nodes: whole.nodes.filter(({ node }) => node.name.toLowerCase() === wanted),
  };
}

const findPeer = (snapshot: Snapshot, { partition, peer }: SoughtAtPeer): Stored<Peering> | undefined =>
  snapshot.find(peerings, 'name', nameEntry(partition, peer));

/** Nothing came from a peer that is not there; one that comes makes it another answer. */
const unknownPeer = (state: State, { partition }: Sought): Source => ({
  instances: [],
  watched: [state.watchEntry(peerings, 'partition', partitionKey(partition))],
  alsoWake: [],
});

/** What came from it is being removed, and is not shown any more. */
const endedPeer = (state: State, { row }: Stored<Peering>): Source => ({
  instances: [],
  watched: [state.watchRow(peerings, row.id)],
  alsoWake: [],
});

function byName({ node: a }: FoundNode, { node: b }: FoundNode): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
