/**
 * Resolves rows to instances and nodes, local or imported. The same rows resolve to the same object, so that callers
 * can cache what they derive from it, such as its JSON.
 */
import { cluster } from '../../../credentials/cluster.ts';
import { type Steps, sortInSlices, visitInSlices } from '../../../state/clock/slices.ts';
import { derivedFromBoth } from '../../../state/memory/derived-cache.ts';
import { listInSlices, type Reader } from '../../../state/memory/reader.ts';
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

/** A node of this cluster. */
interface LocalNode extends ResolvedNode {
  readonly isLost: boolean;
}

export const resolveNode = (reader: Reader, stored: Stored<CatalogNode>): ResolvedNode =>
  localNode(stored, datacenterOf(reader));

const datacenterOf = (reader: Reader): string => reader.get(cluster, 'cluster')?.row.datacenter ?? '';

const localNode = derivedFromBoth((stored: Stored<CatalogNode>, datacenter: string): LocalNode => {
  const { row, createIndex, modifyIndex } = stored;
  const { name, partition, address, id, taggedAddresses, meta } = row;
  return {
    node: { id, name, address, datacenter, partition, taggedAddresses, meta },
    checks: nodeChecks(row).map((check) => toInstanceCheck(check)),
    indexes: { createIndex, modifyIndex },
    partition,
    peer: undefined,
    isLost: row.lostSinceMs !== undefined,
  };
});

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

const localInstance = derivedFromBoth((stored: Stored<CatalogService>, resolvedNode: LocalNode): ResolvedInstance => {
  const { service, checks } = stored.row;
  const own = resolvedNode.isLost ? checks.map(asLost) : checks;
  const all = [...resolvedNode.checks, ...own.map((check) => toInstanceCheck(check, service))];
  const { createIndex, modifyIndex } = stored;
  return {
    resolvedNode,
    instance: { node: resolvedNode.node, service, checks: all },
    indexes: { createIndex, modifyIndex },
    status: overallStatus(all),
    partition: resolvedNode.partition,
    peer: undefined,
  };
});

export const listServiceRows = (reader: Reader, partition: string, service: string): Steps<Stored<CatalogService>[]> =>
  listInSlices(reader, catalogServices, 'name', catalogEntry(partition, service));

/** Returns the instances of rows, without those whose node is missing. */
export function* resolveInstances(
  reader: Reader,
  services: readonly Stored<CatalogService>[],
): Steps<ResolvedInstance[]> {
  const resolved: ResolvedInstance[] = [];
  const datacenter = datacenterOf(reader);
  yield* visitInSlices(services, (stored) => {
    const node = reader.get(catalogNodes, stored.row.node);
    if (node !== undefined) resolved.push(localInstance(stored, localNode(node, datacenter)));
  });
  return resolved;
}

/** Sorts by node name, then service ID, so that every server returns the same order. */
export const sortInstances = (resolved: ResolvedInstance[]): Steps<ResolvedInstance[]> =>
  sortInSlices(resolved, compareInstances);

const compareInstances = ({ instance: a }: ResolvedInstance, { instance: b }: ResolvedInstance): number =>
  compare(a.node.name, b.node.name) || compare(a.service.id, b.service.id);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const isSameScope = (a: CatalogScope, b: CatalogScope): boolean => a.peer === b.peer && a.partition === b.partition;

export const resolveImportedInstances = derivedFromBoth((stored: Stored<ImportedService>, scope: CatalogScope) => {
  const { row, createIndex, modifyIndex } = stored;
  const indexes = { createIndex, modifyIndex };
  const resolved: readonly ResolvedInstance[] = row.instances
    .map((instance) => ({
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
    }))
    .sort(compareInstances);
  return resolved;
}, isSameScope);
