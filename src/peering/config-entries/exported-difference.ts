/** Compares two `exported-services` entries by the services that each peer gains and loses. */
import { type Steps, visitInSlices } from '../../state/clock/slices.ts';
import { derivedFrom } from '../../state/memory/derived-cache.ts';
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
export function* exportedDifference(
  before: Entry,
  after: Entry,
  services: Iterable<string>,
): Steps<readonly PeerDifference[]> {
  const byPeer = new Map<string, { peer: string; gains: string[]; loses: string[] }>();
  for (const entry of [after, before]) {
    for (const peer of entry === undefined ? [] : peersOf(entry)) {
      if (!byPeer.has(nameKey(peer))) byPeer.set(nameKey(peer), { peer, gains: [], loses: [] });
    }
  }
  yield* visitInSlices(services, (service) => {
    const { gained, lost } = changeFrom(consumersInEntry(before, service))(consumersInEntry(after, service));
    for (const key of gained) byPeer.get(key)?.gains.push(service);
    for (const key of lost) byPeer.get(key)?.loses.push(service);
  });
  return [...byPeer].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, difference]) => difference);
}

interface Change {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Computes each change once, because services without a line of their own share one `Consumers`. */
const changeFrom = derivedFrom((before: Consumers) =>
  derivedFrom((after: Consumers): Change => ({ gained: without(after, before), lost: without(before, after) })),
);

const without = (some: Consumers, others: Consumers): readonly string[] =>
  [...some.peerKeys].filter((key) => !others.peerKeys.has(key));
