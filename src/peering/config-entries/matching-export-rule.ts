/** Finds the line of an `exported-services` entry that decides whether a peer gets a service. For diagnosis. */
import { type EntryOf, nameKey, WILDCARD } from './config-entry.ts';
import { consumersInEntry, isNeverExported } from './exported-services.ts';

export type ExportDecision =
  /** No entry can export a service of this name. */
  | { readonly kind: 'never' }
  | { readonly kind: 'no-entry' }
  /** No line matches the service, and there is no line `*`. */
  | { readonly kind: 'no-line' }
  /** The lines for the service export it to the peer, or only to other consumers. */
  | { readonly kind: 'exported' | 'other-consumers'; readonly line: MatchedRule };

/**
 * The line of the entry that decides. If several lines have the same name, it is the first line that names the peer, or
 * the first line if none names the peer.
 */
export interface MatchedRule {
  /** From 0. */
  readonly index: number;
  readonly name: string;
}

/** Returns the decision about one service and peer. It agrees with `exportsTo`. */
export function matchingExportRule(
  entry: EntryOf<'exported-services'> | undefined,
  { service, peerName }: { readonly service: string; readonly peerName: string },
): ExportDecision {
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
  const exported = consumersInEntry(entry, service).peerKeys.has(peer);
  return { kind: exported ? 'exported' : 'other-consumers', line: { index: line.index, name: line.name } };
}
