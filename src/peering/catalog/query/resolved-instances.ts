/**
 * Instances and nodes as reads find them, whether they were registered here or came from a peer. Each is made once for
 * the rows that it stands for, so that what is made of it (its JSON, say) can be kept for it.
 */
import { cluster } from '../../../credentials/cluster.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../../state/table.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { type CatalogService, catalogServices } from '../tables/catalog-service.ts';
import { instanceCheck, type KeptCheck, NODE_LOST } from '../tables/check.ts';
import type { ImportedService } from '../tables/imported-service.ts';
import type { Instance, InstanceCheck, InstanceNode } from '../tables/instance.ts';
import { foldChecks, type OverallStatus } from './fold-checks.ts';

/** The commits that made and last changed something. */
export interface Indexes {
  readonly createIndex: number;
  readonly modifyIndex: number;
}

/** Where it is shown. */
export interface Place {
  /** As it was first named. */
  readonly partition: string;
  /** The name of the peering that it came through; undefined: it was registered here. */
  readonly peer: string | undefined;
}

export interface FoundNode extends Place {
  readonly node: InstanceNode;
  readonly indexes: Indexes;
  /** Those of the whole node. */
  readonly checks: readonly InstanceCheck[];
}

export interface FoundInstance extends Place {
  readonly on: FoundNode;
  readonly instance: Instance;
  readonly indexes: Indexes;
  readonly status: OverallStatus;
}

type NodeRow = DeepReadonly<CatalogNode>;

/** The node's own check on servers: it says whether the lease lives. */
const LEASE_CHECK = { id: 'server-lease', name: 'Server lease', notes: '', type: '' } as const;

const foundNodes = new WeakMap<Stored<CatalogNode>, FoundNode>();

/** A node that was registered here. */
export function foundNode(reader: Reader, stored: Stored<CatalogNode>): FoundNode {
  let found = foundNodes.get(stored);
  if (found === undefined) {
    const { row, createIndex, modifyIndex } = stored;
    const { name, partition, address, id, taggedAddresses, meta } = row;
    const datacenter = reader.get(cluster, 'cluster')?.row.datacenter ?? '';
    found = {
      node: { id, name, address, datacenter, partition, taggedAddresses, meta },
      checks: nodeChecks(row).map((check) => instanceCheck(check)),
      indexes: { createIndex, modifyIndex },
      partition,
      peer: undefined,
    };
    foundNodes.set(stored, found);
  }
  return found;
}

function nodeChecks(row: NodeRow): readonly DeepReadonly<KeptCheck>[] {
  if (row.agent === undefined) return row.checks;
  if (row.lostSinceMs === undefined) return [{ ...LEASE_CHECK, status: 'passing', output: '' }, ...row.checks];
  return [{ ...LEASE_CHECK, status: 'critical', output: NODE_LOST }, ...row.checks.map(lost)];
}

/** What a check says while the server that it ran on is gone; what it said before is there again with that server. */
const lost = (check: DeepReadonly<KeptCheck>): DeepReadonly<KeptCheck> => ({
  ...check,
  status: 'critical',
  output: NODE_LOST,
});

interface KeptInstance {
  readonly node: Stored<CatalogNode>;
  readonly found: FoundInstance;
}

const foundInstances = new WeakMap<Stored<CatalogService>, KeptInstance>();

/** An instance that was registered here, on its node. */
function foundInstance(reader: Reader, node: Stored<CatalogNode>, stored: Stored<CatalogService>): FoundInstance {
  const kept = foundInstances.get(stored);
  if (kept?.node === node) return kept.found;
  const on = foundNode(reader, node);
  const { service, checks } = stored.row;
  const own = node.row.lostSinceMs === undefined ? checks : checks.map(lost);
  const all = [...on.checks, ...own.map((check) => instanceCheck(check, service))];
  const { createIndex, modifyIndex } = stored;
  const found: FoundInstance = {
    on,
    instance: { node: on.node, service, checks: all },
    indexes: { createIndex, modifyIndex },
    status: foldChecks(all),
    partition: on.partition,
    peer: undefined,
  };
  foundInstances.set(stored, { node, found });
  return found;
}

/** The rows of a service that was registered here. */
export const servicesNamed = (reader: Reader, partition: string, service: string): Stored<CatalogService>[] =>
  reader.list(catalogServices, 'name', catalogEntry(partition, service));

/** What was registered on a node. */
export function instancesOnNode(reader: Reader, node: Stored<CatalogNode>): FoundInstance[] {
  const services = reader.list(catalogServices, 'node', node.row.uid);
  return services.map((stored) => foundInstance(reader, node, stored));
}

/** Services with the nodes that they are on. */
export function onNodes(reader: Reader, services: readonly Stored<CatalogService>[]): FoundInstance[] {
  const found: FoundInstance[] = [];
  for (const stored of services) {
    const node = reader.get(catalogNodes, stored.row.node);
    if (node !== undefined) found.push(foundInstance(reader, node, stored));
  }
  return found;
}

/** By node, then by the service's ID: the same on every server. */
export function inOrder(found: FoundInstance[]): FoundInstance[] {
  return found.sort(
    (a, b) =>
      compare(a.instance.node.name, b.instance.node.name) || compare(a.instance.service.id, b.instance.service.id),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface KeptImport {
  readonly place: Place;
  readonly found: readonly FoundInstance[];
}

const foundImports = new WeakMap<Stored<ImportedService>, KeptImport>();

/** The instances of a service that came from a peer. */
export function importedInstances(stored: Stored<ImportedService>, place: Place): readonly FoundInstance[] {
  const kept = foundImports.get(stored);
  if (kept?.place.peer === place.peer && kept?.place.partition === place.partition) return kept.found;
  const { row, createIndex, modifyIndex } = stored;
  const indexes = { createIndex, modifyIndex };
  const found = inOrder(
    row.instances.map((instance) => ({
      ...place,
      on: {
        ...place,
        node: instance.node,
        indexes,
        checks: instance.checks.filter(({ serviceId }) => serviceId === ''),
      },
      instance,
      indexes,
      status: foldChecks(instance.checks),
    })),
  );
  foundImports.set(stored, { place, found });
  return found;
}
