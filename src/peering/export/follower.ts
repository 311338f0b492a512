/** Somebody who follows what one peer gets, and how its picture is brought up to date. */
import type { Reader } from '../../state/memory/reader.ts';
import { catalogEntry } from '../catalog/tables/catalog-node.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';
import { nameKey } from '../config-entries/config-entry.ts';
import { exportedServicesOf, exportsTo, isExportedTo, type PeerOf } from '../config-entries/exported-services.ts';

/** What a follower is told. The calls must not throw and not wait. */
export interface Told {
  /** The set of names is another. */
  listChanged(): void;
  /** The service is exported now, was changed, or is not registered any more. Without it only names are followed. */
  serviceChanged?(service: string): void;
}

export interface Follower {
  readonly peer: PeerOf;
  readonly told: Told;
  /** As they are registered, by the form in which they are compared. */
  names: Map<string, string>;
  /** The entry that gives them; another one has not been looked at yet. */
  entry: ReturnType<typeof exportedServicesOf>;
  /** The names in order; undefined until somebody asks. */
  sorted: readonly string[] | undefined;
}

/** A follower that knows what is exported now. */
export function createFollower(reader: Reader, peer: PeerOf, told: Told): Follower {
  const follower: Follower = { peer, told, names: new Map(), entry: undefined, sorted: undefined };
  take(reader, follower);
  return follower;
}

const take = (reader: Reader, follower: Follower, services?: readonly string[]): void => {
  const { names } = exportsTo(reader, follower.peer, services);
  follower.entry = exportedServicesOf(reader, follower.peer.partition);
  follower.names = new Map(names.map((name) => [nameKey(name), name]));
  follower.sorted = names;
};

/** Whether the entry is still the one that the follower's names come from. */
export const isCurrent = (reader: Reader, { peer, entry }: Follower): boolean =>
  exportedServicesOf(reader, peer.partition) === entry;

/**
 * Works the names out anew and tells what is different. What is registered and not exported any more is in the list alone.
 * @param services the names that are registered in its partition
 */
export function renewFollower(reader: Reader, follower: Follower, services?: readonly string[]): void {
  const { names: before, told } = follower;
  take(reader, follower, services);
  const { names } = follower;
  const came = [...names].filter(([key, name]) => before.get(key) !== name);
  if (came.length > 0 || before.size !== names.size) told.listChanged();
  if (told.serviceChanged === undefined) return;
  for (const [, name] of came) told.serviceChanged(name);
  for (const [key, name] of before) {
    if (!names.has(key) && registeredName(reader, follower.peer.partition, name) === undefined)
      told.serviceChanged(name);
  }
}

/** A service as it is now. */
export interface ReviewedService {
  readonly name: string;
  /** As it is registered; undefined: it is not. */
  readonly registered: string | undefined;
  /** It looks different from before, as far as that is known. */
  readonly changed: boolean;
}

/** Brings one service up to date and tells what is different. */
export function reviewService(
  reader: Reader,
  follower: Follower,
  { name, registered, changed }: ReviewedService,
): void {
  const { names, peer, told } = follower;
  const key = nameKey(name);
  const before = names.get(key);
  const exported = registered !== undefined && isExportedTo(reader, peer, registered) ? registered : undefined;
  if (exported !== before) {
    if (exported === undefined) names.delete(key);
    else names.set(key, exported);
    follower.sorted = undefined;
    told.listChanged();
  }
  if (exported !== undefined && (changed || exported !== before)) told.serviceChanged?.(exported);
  else if (registered === undefined && before !== undefined) told.serviceChanged?.(before);
}

/** Brings a service up to date that the follower has asked for: it was told whether it gets it. */
export function noteAnswer(reader: Reader, follower: Follower, service: string, gets: boolean): void {
  if (follower.names.has(nameKey(service)) === gets) return;
  const registered = registeredName(reader, follower.peer.partition, service);
  reviewService(reader, follower, { name: service, registered, changed: false });
}

/** The names in order; the same array until they change. */
export function namesOf(follower: Follower): readonly string[] {
  follower.sorted ??= [...follower.names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
  return follower.sorted;
}

/** A service's name as it was first registered; undefined: there is none. */
export const registeredName = (reader: Reader, partition: string, service: string): string | undefined =>
  reader.list(catalogServices, 'name', catalogEntry(partition, service), { limit: 1 })[0]?.row.service.name;
