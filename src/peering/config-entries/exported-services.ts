/**
 * Evaluates a partition's `exported-services` entry: which services each peer gets ([SVC-71] to [SVC-75]). Names of
 * services and peers are compared without regard to case.
 */
import { partitionKey } from '../../credentials/partition.ts';
import { runAtOnce } from '../../state/clock/slices.ts';
import { derivedFrom } from '../../state/memory/derived-cache.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State, Watched } from '../../state/state.ts';
import { localServiceNames } from '../catalog/query/local-instances.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';
import { configEntries, type EntryOf, entryKey, nameKey, ofKind, WILDCARD } from './config-entry.ts';

/** The services of a cluster's own servers, which a peer could mistake for its own ([SVC-73]). */
const NEVER_EXPORTED: ReadonlySet<string> = new Set(['consul', 'accord']);

export const isNeverExported = (service: string): boolean => NEVER_EXPORTED.has(nameKey(service));

export interface Consumers {
  /** Sorted. Each has the spelling of its first occurrence in the entry. */
  readonly peers: readonly string[];
  readonly partitions: readonly string[];
  /** The peers in the form of `nameKey`. */
  readonly peerKeys: ReadonlySet<string>;
}

export interface ExportedNames {
  /** Sorted and unique, spelled as registered. */
  readonly names: readonly string[];
  /** Whether the peer also gets services registered later that have no line of their own. */
  readonly wildcard: boolean;
}

/** A peer as the entry of its partition names it. */
export interface PeerRef {
  readonly partition: string;
  readonly peerName: string;
}

/** @param services the names registered in the partition, to avoid reading them again for each peer */
export function exportsTo(
  reader: Reader,
  { partition, peerName }: PeerRef,
  services: Iterable<string> = runAtOnce(localServiceNames(reader, partition)),
): ExportedNames {
  return exportsOfEntry(exportedServicesEntry(reader, partition), peerName, services);
}

/** Whether the entry exports a service of this name to the peer. The service need not be registered. */
export function isExportedTo(reader: Reader, { partition, peerName }: PeerRef, service: string): boolean {
  return lookUpConsumers(compileEntry(exportedServicesEntry(reader, partition)), service).peerKeys.has(
    nameKey(peerName),
  );
}

/** Returns the consumers of a service in an entry. Services without a line of their own share one object. */
export const consumersInEntry = (entry: EntryOf<'exported-services'> | undefined, service: string): Consumers =>
  lookUpConsumers(compileEntry(entry), service);

export const exportedServicesEntry = (reader: Reader, partition: string): EntryOf<'exported-services'> | undefined =>
  ofKind('exported-services', reader.get(configEntries, exportedServicesKey(partition)));

/** Returns what the exported names depend on: the entry and the services of the partition. */
export function watchedExports(state: State, partition: string): readonly Watched[] {
  return [
    state.watchRow(configEntries, exportedServicesKey(partition)),
    state.watchEntry(catalogServices, 'partition', partitionKey(partition)),
  ];
}

export const exportedServicesKey = (partition: string): string =>
  entryKey(partition, 'exported-services', partitionKey(partition));

/** Returns the peers that an entry names, sorted. Each has the spelling of its first occurrence in the entry. */
export function peersOf(entry: EntryOf<'exported-services'>): readonly string[] {
  return collectConsumers(entry.services.flatMap(({ consumers }) => consumers)).peers;
}

/** Returns the services that a peer gets from an entry, which need not be stored. */
export function exportsOfEntry(
  entry: EntryOf<'exported-services'> | undefined,
  peerName: string,
  services: Iterable<string>,
): ExportedNames {
  const rules = compileEntry(entry);
  const key = nameKey(peerName);
  const names = new Map<string, string>();
  for (const service of services) {
    if (lookUpConsumers(rules, service).peerKeys.has(key) && !names.has(nameKey(service)))
      names.set(nameKey(service), service);
  }
  return { names: sortedByKey(names), wildcard: rules.rest.peerKeys.has(key) };
}

interface Rules {
  /** By service name, in the form of `nameKey`. */
  readonly own: ReadonlyMap<string, Consumers>;
  /** The consumers of the services without a line of their own. */
  readonly rest: Consumers;
}

const NO_CONSUMERS: Consumers = { peers: [], partitions: [], peerKeys: new Set() };
const NO_RULES: Rules = { own: new Map(), rest: NO_CONSUMERS };

function lookUpConsumers({ own, rest }: Rules, service: string): Consumers {
  const key = nameKey(service);
  return NEVER_EXPORTED.has(key) ? NO_CONSUMERS : (own.get(key) ?? rest);
}

const compileEntry = (entry: EntryOf<'exported-services'> | undefined): Rules =>
  entry === undefined ? NO_RULES : rulesOfEntry(entry);

/** Compiles an entry once, because many peers read it for many services. */
const rulesOfEntry = derivedFrom((entry: EntryOf<'exported-services'>): Rules => {
  const byName = Map.groupBy(entry.services, ({ name }) => nameKey(name));
  const own = new Map<string, Consumers>();
  for (const [key, lines] of byName) own.set(key, collectConsumers(lines.flatMap(({ consumers }) => consumers)));
  const rest = own.get(WILDCARD) ?? NO_CONSUMERS;
  own.delete(WILDCARD);
  return { own, rest };
});

function collectConsumers(consumers: EntryOf<'exported-services'>['services'][number]['consumers']): Consumers {
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
