/** Queries of the services of this cluster for export, configuration entries and diagnosis. */
import { partitionKey } from '../../../credentials/partition.ts';
import { type Steps, sortInSlices, visitInSlices } from '../../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../../state/memory/reader.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import { secondaryIndex } from '../../../state/memory/table-indexes.ts';
import { type AnyTable, indexOf, SEPARATOR } from '../../../state/table.ts';
import type { Change } from '../../../state/watch/change-feed.ts';
import { catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { type CatalogService, catalogServices } from '../tables/catalog-service.ts';
import type { Instance } from '../tables/instance.ts';
import { listServiceRows, resolveInstances, sortInstances } from './resolved-instances.ts';

/** Returns the instances of a service, sorted. An instance remains the same object until something in it changes. */
export function* localInstances(reader: Reader, partition: string, service: string): Steps<readonly Instance[]> {
  const rows = yield* listServiceRows(reader, partition, service);
  const resolved = yield* sortInstances(yield* resolveInstances(reader, rows));
  return resolved.map(({ instance }) => instance);
}

/** Returns the service names in a partition, sorted without regard to case. Equal names keep the first spelling. */
export function* localServiceNames(reader: Reader, partition: string): Steps<readonly string[]> {
  const names = new Map<string, string>();
  const rows = yield* listInSlices(reader, catalogServices, 'partition', partitionKey(partition));
  yield* visitInSlices(rows, ({ row }) => {
    const { name } = row.service;
    const key = name.toLowerCase();
    if (!names.has(key)) names.set(key, name);
  });
  const sorted = yield* sortInSlices([...names], ([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, name]) => name);
}

/** Returns `catalogEntry` of each service that a commit may have changed. @param reader the state after the commit */
export function servicesChangedBy(reader: Snapshot, { changes }: Pick<Change, 'changes'>): ReadonlySet<string> {
  const entries = new Set<string>();
  const add = ({ partition, service }: Pick<CatalogService, 'partition' | 'service'>): void =>
    void entries.add(catalogEntry(partition, service.name));
  for (const { table, key, before, after } of changes) {
    if (table === catalogServices) {
      if (before !== undefined) add(before.row as CatalogService);
      if (after !== undefined) add(after.row as CatalogService);
    } else if (table === catalogNodes) {
      for (const row of servicesOnNode(reader, key)) add(row);
    }
  }
  return entries;
}

/**
 * Yields the services on a node, also if the commit deleted the node. Readers no longer return the services of a
 * deleted node, and a background job deletes their rows later, so this reads the index directly.
 */
function* servicesOnNode({ tables }: Snapshot, uid: string): Generator<CatalogService> {
  const services = tables.get(catalogServices);
  if (services === undefined) return;
  const prefix = uid + SEPARATOR;
  const byNode = secondaryIndex(services, indexOf<unknown>(catalogServices as AnyTable, 'node'));
  for (const [entry, key] of byNode.entries(prefix)) {
    if (!entry.startsWith(prefix)) return;
    const stored = services.rows.get(key);
    if (stored !== undefined) yield stored.row as CatalogService;
  }
}
