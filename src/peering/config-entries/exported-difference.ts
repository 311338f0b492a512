/** What each peer gains and loses when one `exported-services` entry takes the place of another; pure. */
import { type EntryOf, nameKey } from './config-entry.ts';
import { type Consumers, consumersBy, peersOf } from './exported-services.ts';

type Entry = EntryOf<'exported-services'> | undefined;

/** Of one peer; names of services in the order in which they were given. */
export interface PeerDifference {
  readonly peer: string;
  readonly gains: readonly string[];
  readonly loses: readonly string[];
}

/**
 * One for each peer that either entry names, sorted.
 * @param services the names that are registered in the partition
 */
export function exportedDifference(before: Entry, after: Entry, services: Iterable<string>): readonly PeerDifference[] {
  const byPeer = new Map<string, { peer: string; gains: string[]; loses: string[] }>();
  for (const entry of [after, before]) {
    for (const peer of entry === undefined ? [] : peersOf(entry)) {
      if (!byPeer.has(nameKey(peer))) byPeer.set(nameKey(peer), { peer, gains: [], loses: [] });
    }
  }
  for (const service of services) {
    const { gained, lost } = changeOf(consumersBy(before, service), consumersBy(after, service));
    for (const key of gained) byPeer.get(key)?.gains.push(service);
    for (const key of lost) byPeer.get(key)?.loses.push(service);
  }
  return [...byPeer].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, difference]) => difference);
}

interface Change {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Services that nothing tells apart have the same consumers: what becomes of them is worked out once. */
const changes = new WeakMap<Consumers, WeakMap<Consumers, Change>>();

function changeOf(before: Consumers, after: Consumers): Change {
  const known = changes.getOrInsertComputed(before, () => new WeakMap());
  return known.getOrInsertComputed(after, () => {
    return { gained: without(after, before), lost: without(before, after) };
  });
}

const without = (some: Consumers, others: Consumers): readonly string[] =>
  [...some.peerKeys].filter((key) => !others.peerKeys.has(key));
