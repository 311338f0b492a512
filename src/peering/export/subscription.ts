/** Subscriptions to the services exported to one peer: hold the exported names and report changes to a listener. */
import type { Reader } from '../../state/memory/reader.ts';
import { catalogEntry } from '../catalog/tables/catalog-node.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';
import { nameKey } from '../config-entries/config-entry.ts';
import { exportedServicesEntry, exportsTo, isExportedTo, type PeerRef } from '../config-entries/exported-services.ts';

/** The receiver of changes. Its functions are synchronous and must not throw. */
export interface ExportListener {
  listChanged(): void;
  /** A service was exported, changed, or deregistered. Without this function only the names are followed. */
  serviceChanged?(service: string): void;
}

export interface Subscription {
  readonly peer: PeerRef;
  readonly listener: ExportListener;
  /** The registered spelling by `nameKey`. */
  names: Map<string, string>;
  /** The `exported-services` entry that the names result from. */
  entry: ReturnType<typeof exportedServicesEntry>;
  /** The sorted names, computed when they are first read. */
  sorted: readonly string[] | undefined;
}

/** Creates a subscription with the names that are exported now. */
export function createSubscription(reader: Reader, peer: PeerRef, listener: ExportListener): Subscription {
  const subscription: Subscription = { peer, listener, names: new Map(), entry: undefined, sorted: undefined };
  readNames(reader, subscription);
  return subscription;
}

const readNames = (reader: Reader, subscription: Subscription, services?: readonly string[]): void => {
  const { names } = exportsTo(reader, subscription.peer, services);
  subscription.entry = exportedServicesEntry(reader, subscription.peer.partition);
  subscription.names = new Map(names.map((name) => [nameKey(name), name]));
  subscription.sorted = names;
};

export const isCurrent = (reader: Reader, { peer, entry }: Subscription): boolean =>
  exportedServicesEntry(reader, peer.partition) === entry;

/**
 * Reads the names again and reports the differences. A service that is registered but no longer exported is only
 * missing from the list ([STREAM-59]).
 * @param services the registered names of the partition
 */
export function refreshNames(reader: Reader, subscription: Subscription, services?: readonly string[]): void {
  const { names: before, listener } = subscription;
  readNames(reader, subscription, services);
  const { names } = subscription;
  const added = [...names].filter(([key, name]) => before.get(key) !== name);
  if (added.length > 0 || before.size !== names.size) listener.listChanged();
  if (listener.serviceChanged === undefined) return;
  for (const [, name] of added) listener.serviceChanged(name);
  for (const [key, name] of before) {
    if (!names.has(key) && registeredName(reader, subscription.peer.partition, name) === undefined)
      listener.serviceChanged(name);
  }
}

export interface ReviewedService {
  readonly name: string;
  /** The registered spelling, or `undefined` when the service is not registered. */
  readonly registered: string | undefined;
  /** Whether its payload differs from the last announced one. */
  readonly changed: boolean;
}

/** Updates one service of a subscription and reports the difference. */
export function reviewService(
  reader: Reader,
  subscription: Subscription,
  { name, registered, changed }: ReviewedService,
): void {
  const { names, peer, listener } = subscription;
  const key = nameKey(name);
  const before = names.get(key);
  const exported = registered !== undefined && isExportedTo(reader, peer, registered) ? registered : undefined;
  if (exported !== before) {
    if (exported === undefined) names.delete(key);
    else names.set(key, exported);
    subscription.sorted = undefined;
    listener.listChanged();
  }
  if (exported !== undefined && (changed || exported !== before)) listener.serviceChanged?.(exported);
  else if (registered === undefined && before !== undefined) listener.serviceChanged?.(before);
}

/** Updates a service after its payload was read. @param exported whether the read returned a payload */
export function reconcileAnswer(reader: Reader, subscription: Subscription, service: string, exported: boolean): void {
  if (subscription.names.has(nameKey(service)) === exported) return;
  const registered = registeredName(reader, subscription.peer.partition, service);
  reviewService(reader, subscription, { name: service, registered, changed: false });
}

/** Returns the sorted names. The array is the same until they change. */
export function sortedNames(subscription: Subscription): readonly string[] {
  subscription.sorted ??= [...subscription.names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
  return subscription.sorted;
}

/** Returns the spelling with which a service was first registered, or `undefined` when it is not registered. */
export const registeredName = (reader: Reader, partition: string, service: string): string | undefined =>
  reader.list(catalogServices, 'name', catalogEntry(partition, service), { limit: 1 })[0]?.row.service.name;
