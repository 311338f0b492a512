/**
 * What a partition's `exported-services` entry gives to whom; pure. Rules: services-decisions.
 *
 * - A line `*` stands for every service that has no line of its own: one that has is decided by that line alone. Lines of
 *   the same name add up.
 * - What is not registered here is not exported, whatever the entry says: there is nothing to send.
 * - Names of services and of peers are compared without regard to case.
 */
import { partitionKey } from '../../credentials/partition.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State, Watched } from '../../state/state.ts';
import { localServiceNames } from '../catalog/query/local-instances.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';
import { configEntries, type EntryOf, entryKey, nameKey, ofKind, WILDCARD } from './config-entry.ts';

/** Services that are never exported: each cluster's own servers, which another could mistake for its own. */
const OWN_SERVERS: ReadonlySet<string> = new Set(['consul', 'accord']);

/** Whether a service of this name stays here whatever an entry says. */
export const isNeverExported = (service: string): boolean => OWN_SERVERS.has(nameKey(service));

/** Who a service, or all of them, are for. */
export interface Consumers {
  /** Names as the entry first gives them, sorted. */
  readonly peers: readonly string[];
  readonly partitions: readonly string[];
  /** The peers in the form in which names are compared. */
  readonly peerKeys: ReadonlySet<string>;
}

/** What a peer gets. */
export interface ExportedTo {
  /** Sorted, without repetition, each as it is registered. */
  readonly names: readonly string[];
  /** Every further service that is registered is exported to the peer, too, unless it has a line of its own. */
  readonly wildcard: boolean;
}

/** Where a peer stands in a partition's entry. */
export interface PeerOf {
  readonly partition: string;
  readonly peerName: string;
}

/**
 * What the peer gets.
 * @param services the names that are registered in the partition, for who asks for many peers
 */
export function exportsTo(
  reader: Reader,
  { partition, peerName }: PeerOf,
  services: Iterable<string> = localServiceNames(reader, partition),
): ExportedTo {
  return exportsBy(exportedServicesOf(reader, partition), peerName, services);
}

/** Whether the peer gets a service of this name, if there is one. */
export function isExportedTo(reader: Reader, { partition, peerName }: PeerOf, service: string): boolean {
  return consumersOf(compiled(exportedServicesOf(reader, partition)), service).peerKeys.has(nameKey(peerName));
}

/** Who gets a service of this name, if there is one, by an entry; the same object for services that nothing tells apart. */
export const consumersBy = (entry: EntryOf<'exported-services'> | undefined, service: string): Consumers =>
  consumersOf(compiled(entry), service);

/** The partition's entry. */
export const exportedServicesOf = (reader: Reader, partition: string): EntryOf<'exported-services'> | undefined =>
  ofKind('exported-services', reader.get(configEntries, exportedServicesKey(partition)));

/** What the names that the partition exports depend on: its entry, and services that come and go. */
export function watchedExports(state: State, partition: string): readonly Watched[] {
  return [
    state.watchRow(configEntries, exportedServicesKey(partition)),
    state.watchEntry(catalogServices, 'partition', partitionKey(partition)),
  ];
}

/** The key of the partition's entry, which has the partition's name. */
export const exportedServicesKey = (partition: string): string =>
  entryKey(partition, 'exported-services', partitionKey(partition));

/** The peers that an entry names, as it first names them, sorted. */
export function peersOf(entry: EntryOf<'exported-services'>): readonly string[] {
  return consumersIn(entry.services.flatMap(({ consumers }) => consumers)).peers;
}

/** What a peer gets by an entry, whether it stands already or would. Undefined: by none. */
export function exportsBy(
  entry: EntryOf<'exported-services'> | undefined,
  peerName: string,
  services: Iterable<string>,
): ExportedTo {
  const rules = compiled(entry);
  const key = nameKey(peerName);
  const names = new Map<string, string>();
  for (const service of services) {
    if (consumersOf(rules, service).peerKeys.has(key) && !names.has(nameKey(service)))
      names.set(nameKey(service), service);
  }
  return { names: sortedByKey(names), wildcard: rules.rest.peerKeys.has(key) };
}

interface Rules {
  /** By the name of the service, in the form in which names are compared. */
  readonly own: ReadonlyMap<string, Consumers>;
  /** Of the services without a line of their own. */
  readonly rest: Consumers;
}

const NOBODY: Consumers = { peers: [], partitions: [], peerKeys: new Set() };
const NOTHING: Rules = { own: new Map(), rest: NOBODY };

function consumersOf({ own, rest }: Rules, service: string): Consumers {
  const key = nameKey(service);
  return OWN_SERVERS.has(key) ? NOBODY : (own.get(key) ?? rest);
}

/** By the row, which never changes: many peers ask the same entry for many services. */
const rulesByEntry = new WeakMap<EntryOf<'exported-services'>, Rules>();

function compiled(entry: EntryOf<'exported-services'> | undefined): Rules {
  if (entry === undefined) return NOTHING;
  let known = rulesByEntry.get(entry);
  if (known === undefined) {
    const byName = Map.groupBy(entry.services, ({ name }) => nameKey(name));
    const own = new Map<string, Consumers>();
    for (const [key, lines] of byName) own.set(key, consumersIn(lines.flatMap(({ consumers }) => consumers)));
    const rest = own.get(WILDCARD) ?? NOBODY;
    own.delete(WILDCARD);
    known = { own, rest };
    rulesByEntry.set(entry, known);
  }
  return known;
}

function consumersIn(consumers: EntryOf<'exported-services'>['services'][number]['consumers']): Consumers {
  const peers = new Map<string, string>();
  const partitions = new Map<string, string>();
  for (const consumer of consumers) {
    const [to, name] = 'peer' in consumer ? [peers, consumer.peer] : [partitions, consumer.partition];
    if (!to.has(nameKey(name))) to.set(nameKey(name), name);
  }
  return { peers: sortedByKey(peers), partitions: sortedByKey(partitions), peerKeys: new Set(peers.keys()) };
}

const sortedByKey = (byKey: ReadonlyMap<string, string>): readonly string[] =>
  [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
