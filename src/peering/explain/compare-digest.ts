/** Compares what was imported with what the peer says that it has sent; pure. */
import { nameKey } from '../config-entries/config-entry.ts';
import type { IncomingInsight, ReceivedDigest } from '../stream/status/delivery-status.ts';
import type { HeldStream } from './local-stream.ts';

/** How a service stands here. */
export type Comparison =
  | 'same'
  /** The peer has sent it, and it is not here. */
  | 'missing'
  /** The peer has sent something else since. */
  | 'stale'
  /** The peer does not export it to this cluster. */
  | 'extra'
  /** The peer exports it and could not send it as it is now. */
  | 'unsent'
  /** What is here came after the digest, which can tell nothing about it. */
  | 'newer';

/** What a digest says about single services. */
export interface Digested {
  readonly received: ReceivedDigest;
  /** By name, in the form in which names are compared. */
  readonly services: ReadonlyMap<string, { readonly name: string; readonly contentHash: string }>;
}

/** The digest of a stream that is held here. */
export function digestOf(stream: HeldStream): Digested | undefined {
  const received = stream.kind === 'here' ? stream.insight.incoming.digest() : undefined;
  if (received === undefined) return undefined;
  const { services } = received.digest;
  const named = services.map(
    ({ name, hash }) => [nameKey(name), { name, contentHash: Buffer.from(hash).toString('base64url') }] as const,
  );
  return { received, services: new Map(named) };
}

/** Why there is nothing to compare with. */
export function noDigestReason(stream: HeldStream): string {
  if (stream.kind === 'none') return 'there is no stream';
  if (stream.kind === 'elsewhere') return `only server ${stream.server} can compare, which holds the stream: ask it`;
  if (stream.insight.peerVersion === undefined) return 'the peer is no Accord: it does not tell what it has sent';
  return 'the peer has not told yet what it has sent';
}

/** A service as the state has it. */
export interface KeptService {
  readonly service: string;
  /** Of the row of what was imported; undefined: there is none. */
  readonly contentHash: string | undefined;
  /** The newest list names it. */
  readonly listed: boolean;
}

/** Compares one service. @returns undefined: it is neither here nor there */
export function compareService(
  { received, services }: Digested,
  incoming: IncomingInsight,
  { service, contentHash: kept, listed }: KeptService,
): Comparison | undefined {
  const there = services.get(nameKey(service));
  const taken = incoming.taken(service);
  // The same can come in other bytes, which changes nothing in the row.
  const here = kept === undefined ? undefined : (taken?.contentHash ?? kept);
  const isNewer = (order: number | undefined): boolean => order !== undefined && order > received.order;
  if (there === undefined) {
    if (here === undefined) return undefined;
    return isNewer(taken?.order) ? 'newer' : 'extra';
  }
  if (here !== undefined && there.contentHash === here) return 'same';
  if (isNewer(taken?.order)) return 'newer';
  if (there.contentHash === '') return 'unsent';
  if (here !== undefined) return 'stale';
  // A list after the digest has taken it away.
  return isNewer(incoming.listOrder) && !listed ? 'newer' : 'missing';
}
