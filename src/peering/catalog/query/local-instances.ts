/** What other parts ask of the services that were registered here. */
import { partitionKey } from '../../../credentials/partition.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import { treeOf } from '../../../state/memory/table-indexes.ts';
import { type AnyTable, indexOf, SEPARATOR } from '../../../state/table.ts';
import type { Change } from '../../../state/watch/change-feed.ts';
import { catalogEntry, catalogNodes } from '../tables/catalog-node.ts';
import { type CatalogService, catalogServices } from '../tables/catalog-service.ts';
import type { Instance } from '../tables/instance.ts';
import { inOrder, onNodes, servicesNamed } from './resolved-instances.ts';

/** The instances of a service in a partition, each as long the same object as nothing in it changes; by node and ID. */
export function localInstances(reader: Reader, partition: string, service: string): readonly Instance[] {
  return inOrder(onNodes(reader, servicesNamed(reader, partition, service))).map(({ instance }) => instance);
}

/** The names of the services in a partition, each as it was first spelt, sorted without regard to case. */
export function localServiceNames(reader: Reader, partition: string): readonly string[] {
  const names = new Map<string, string>();
  for (const { row } of reader.list(catalogServices, 'partition', partitionKey(partition))) {
    const { name } = row.service;
    const key = name.toLowerCase();
    if (!names.has(key)) names.set(key, name);
  }
  return [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
}

/**
 * The services whose instances a change may have made others, as `catalogEntry` of partition and name.
 * @param reader a picture from after the change
 */
export function servicesChangedBy(reader: Snapshot, { changes }: Pick<Change, 'changes'>): ReadonlySet<string> {
  const entries = new Set<string>();
  const add = ({ partition, service }: Pick<CatalogService, 'partition' | 'service'>): void =>
    void entries.add(catalogEntry(partition, service.name));
  for (const { table, key, before, after } of changes) {
    if (table === catalogServices) {
      if (before !== undefined) add(before.row as CatalogService);
      if (after !== undefined) add(after.row as CatalogService);
    } else if (table === catalogNodes) {
      for (const row of everythingOn(reader, key)) add(row);
    }
  }
  return entries;
}

/**
 * The services on a node, also on one that was removed with this very change: they exist for no reader any more, and
 * are dropped, and told one by one, only after it.
 */
function* everythingOn({ trees }: Snapshot, uid: string): Generator<CatalogService> {
  const services = trees.get(catalogServices);
  if (services === undefined) return;
  const prefix = uid + SEPARATOR;
  const byNode = treeOf(services, indexOf<unknown>(catalogServices as AnyTable, 'node'));
  for (const [entry, key] of byNode.entries(prefix)) {
    if (!entry.startsWith(prefix)) return;
    const stored = services.rows.get(key);
    if (stored !== undefined) yield stored.row as CatalogService;
  }
}
