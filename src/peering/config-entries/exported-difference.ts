/** Compares two `exported-services` entries by the services that each peer gains and loses. */
import { type EntryOf, nameKey } from './config-entry.ts';
import { type Consumers, consumersInEntry, peersOf } from './exported-services.ts';

type Entry = EntryOf<'exported-services'> | undefined;

/** The difference for one peer. The services are in the order of the input. */
export interface PeerDifference {
  readonly peer: string;
  readonly gains: readonly string[];
  readonly loses: readonly string[];
}

/** Returns the differences, sorted by peer. @param services the names registered in the partition */
export function exportedDifference(before: Entry, after: Entry, services: Iterable<string>): readonly PeerDifference[] {
  const byPeer = new Map<string, { peer: string; gains: string[]; loses: string[] }>();
  for (const entry of [after, before]) {
    for (const peer of entry === undefined ? [] : peersOf(entry)) {
      if (!byPeer.has(nameKey(peer))) byPeer.set(nameKey(peer), { peer, gains: [], loses: [] });
    }
  }
  for (const service of services) {
    const { gained, lost } = consumerChange(consumersInEntry(before, service), consumersInEntry(after, service));
    for (const key of gained) byPeer.get(key)?.gains.push(service);
    for (const key of lost) byPeer.get(key)?.loses.push(service);
  }
  return [...byPeer].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, difference]) => difference);
}

interface Change {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Keyed by identity. Services without a line of their own share one `Consumers`, so each change is computed once. */
const changes = new WeakMap<Consumers, WeakMap<Consumers, Change>>();

function consumerChange(before: Consumers, after: Consumers): Change {
  const known = changes.getOrInsertComputed(before, () => new WeakMap());
  return known.getOrInsertComputed(after, () => {
    return { gained: without(after, before), lost: without(before, after) };
  });
}

const without = (some: Consumers, others: Consumers): readonly string[] =>
  [...some.peerKeys].filter((key) => !others.peerKeys.has(key));
