/**
 * Resolves rows to instances and nodes, local or imported. The same rows resolve to the same object, so that callers
 * can cache what they derive from it, such as its JSON.
 */
import { cluster } from '../../../credentials/cluster.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../../state/table.ts';
import { type CatalogNode, catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { type CatalogService, catalogServices } from '../tables/catalog-service.ts';
import { type CatalogCheck, NODE_LOST_OUTPUT, toInstanceCheck } from '../tables/check.ts';
import type { ImportedService } from '../tables/imported-service.ts';
import type { Instance, InstanceCheck, InstanceNode } from '../tables/instance.ts';
import { type OverallStatus, overallStatus } from './overall-status.ts';

export interface Indexes {
  readonly createIndex: number;
  readonly modifyIndex: number;
}

export interface CatalogScope {
  /** Spelled as at the creation of the partition. */
  readonly partition: string;
  /** The name of the peering of an imported item. Undefined: registered in this cluster. */
  readonly peer: string | undefined;
}

export interface ResolvedNode extends CatalogScope {
  readonly node: InstanceNode;
  readonly indexes: Indexes;
  readonly checks: readonly InstanceCheck[];
}

export interface ResolvedInstance extends CatalogScope {
  readonly resolvedNode: ResolvedNode;
  readonly instance: Instance;
  readonly indexes: Indexes;
  readonly status: OverallStatus;
}

type NodeRow = DeepReadonly<CatalogNode>;

/** The check of a local agent's node, which passes while the server's lease is live ([SVC-57]). */
const LEASE_CHECK = { id: 'server-lease', name: 'Server lease', notes: '', type: '' } as const;

const resolvedNodes = new WeakMap<Stored<CatalogNode>, ResolvedNode>();

export function resolveNode(reader: Reader, stored: Stored<CatalogNode>): ResolvedNode {
  let resolved = resolvedNodes.get(stored);
  if (resolved === undefined) {
    const { row, createIndex, modifyIndex } = stored;
    const { name, partition, address, id, taggedAddresses, meta } = row;
    const datacenter = reader.get(cluster, 'cluster')?.row.datacenter ?? '';
    resolved = {
      node: { id, name, address, datacenter, partition, taggedAddresses, meta },
      checks: nodeChecks(row).map((check) => toInstanceCheck(check)),
      indexes: { createIndex, modifyIndex },
      partition,
      peer: undefined,
    };
    resolvedNodes.set(stored, resolved);
  }
  return resolved;
}

function nodeChecks(row: NodeRow): readonly DeepReadonly<CatalogCheck>[] {
  if (row.agent === undefined) return row.checks;
  if (row.lostSinceMs === undefined) return [{ ...LEASE_CHECK, status: 'passing', output: '' }, ...row.checks];
  return [{ ...LEASE_CHECK, status: 'critical', output: NODE_LOST_OUTPUT }, ...row.checks.map(asLost)];
}

/** Returns a check as reported while its server is lost. The stored check keeps its own status ([SVC-58]). */
const asLost = (check: DeepReadonly<CatalogCheck>): DeepReadonly<CatalogCheck> => ({
  ...check,
  status: 'critical',
  output: NODE_LOST_OUTPUT,
});

interface CachedInstance {
  readonly node: Stored<CatalogNode>;
  readonly resolved: ResolvedInstance;
}

const cachedInstances = new WeakMap<Stored<CatalogService>, CachedInstance>();

function resolveInstance(reader: Reader, node: Stored<CatalogNode>, stored: Stored<CatalogService>): ResolvedInstance {
  const cached = cachedInstances.get(stored);
  if (cached?.node === node) return cached.resolved;
  const resolvedNode = resolveNode(reader, node);
  const { service, checks } = stored.row;
  const own = node.row.lostSinceMs === undefined ? checks : checks.map(asLost);
  const all = [...resolvedNode.checks, ...own.map((check) => toInstanceCheck(check, service))];
  const { createIndex, modifyIndex } = stored;
  const resolved: ResolvedInstance = {
    resolvedNode,
    instance: { node: resolvedNode.node, service, checks: all },
    indexes: { createIndex, modifyIndex },
    status: overallStatus(all),
    partition: resolvedNode.partition,
    peer: undefined,
  };
  cachedInstances.set(stored, { node, resolved });
  return resolved;
}

export const listServiceRows = (reader: Reader, partition: string, service: string): Stored<CatalogService>[] =>
  reader.list(catalogServices, 'name', catalogEntry(partition, service));

export function resolveInstancesOnNode(reader: Reader, node: Stored<CatalogNode>): ResolvedInstance[] {
  const services = reader.list(catalogServices, 'node', node.row.uid);
  return services.map((stored) => resolveInstance(reader, node, stored));
}

/** Returns the instances of rows, without those whose node is missing. */
export function resolveInstances(reader: Reader, services: readonly Stored<CatalogService>[]): ResolvedInstance[] {
  const resolved: ResolvedInstance[] = [];
  for (const stored of services) {
    const node = reader.get(catalogNodes, stored.row.node);
    if (node !== undefined) resolved.push(resolveInstance(reader, node, stored));
  }
  return resolved;
}

/** Sorts in place by node name, then service ID, so that every server returns the same order. */
export function sortInstances(resolved: ResolvedInstance[]): ResolvedInstance[] {
  return resolved.sort(
    (a, b) =>
      compare(a.instance.node.name, b.instance.node.name) || compare(a.instance.service.id, b.instance.service.id),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface CachedImports {
  readonly scope: CatalogScope;
  readonly resolved: readonly ResolvedInstance[];
}

const cachedImports = new WeakMap<Stored<ImportedService>, CachedImports>();

export function resolveImportedInstances(
  stored: Stored<ImportedService>,
  scope: CatalogScope,
): readonly ResolvedInstance[] {
  const cached = cachedImports.get(stored);
  if (cached?.scope.peer === scope.peer && cached?.scope.partition === scope.partition) return cached.resolved;
  const { row, createIndex, modifyIndex } = stored;
  const indexes = { createIndex, modifyIndex };
  const resolved = sortInstances(
    row.instances.map((instance) => ({
      ...scope,
      resolvedNode: {
        ...scope,
        node: instance.node,
        indexes,
        checks: instance.checks.filter(({ serviceId }) => serviceId === ''),
      },
      instance,
      indexes,
      status: overallStatus(instance.checks),
    })),
  );
  cachedImports.set(stored, { scope, resolved });
  return resolved;
}
