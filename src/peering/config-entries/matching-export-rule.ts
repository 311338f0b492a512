/** Which line of a partition's `exported-services` entry decides whether a peer gets a service; pure. */
import { type EntryOf, nameKey, WILDCARD } from './config-entry.ts';
import { consumersBy, isNeverExported } from './exported-services.ts';

export type Decision =
  /** A service of this name stays here whatever an entry says. */
  | { readonly kind: 'never' }
  /** The partition has no entry. */
  | { readonly kind: 'no-entry' }
  /** No line is about it, and none about all. */
  | { readonly kind: 'no-line' }
  /** A line gives it to the peer, or none of those that decide does. */
  | { readonly kind: 'exported' | 'other-consumers'; readonly line: Line };

/** A line of the entry: of several of one name the first that names the peer, else the first. */
export interface Line {
  /** From 0. */
  readonly index: number;
  readonly name: string;
}

/** Agrees with what is exported. */
export function decidingLine(
  entry: EntryOf<'exported-services'> | undefined,
  { service, peerName }: { readonly service: string; readonly peerName: string },
): Decision {
  if (isNeverExported(service)) return { kind: 'never' };
  if (entry === undefined) return { kind: 'no-entry' };
  const lines = entry.services.map(({ name, consumers }, index) => ({ index, name, consumers }));
  const own = lines.filter(({ name }) => nameKey(name) === nameKey(service));
  const deciding = own.length > 0 ? own : lines.filter(({ name }) => name === WILDCARD);
  const peer = nameKey(peerName);
  const exporting = deciding.find(({ consumers }) =>
    consumers.some((consumer) => 'peer' in consumer && nameKey(consumer.peer) === peer),
  );
  const line = exporting ?? deciding[0];
  if (line === undefined) return { kind: 'no-line' };
  const exported = consumersBy(entry, service).peerKeys.has(peer);
  return { kind: exported ? 'exported' : 'other-consumers', line: { index: line.index, name: line.name } };
}
