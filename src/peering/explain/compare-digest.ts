/** Comparison of imported services with the digest in which the peer reports what it sent. Pure. */
import { nameKey } from '../config-entries/config-entry.ts';
import type { IncomingDelivery, ReceivedDigest } from '../stream/status/delivery-status.ts';
import type { StreamLocation } from './local-stream.ts';

export type Comparison =
  | 'same'
  /** The peer sent the service, but it is not imported. */
  | 'missing'
  /** The peer has sent a newer version. */
  | 'stale'
  /** The service is imported, but the peer does not export it to this cluster. */
  | 'extra'
  /** The peer exports the service but could not send its current version. */
  | 'unsent'
  /** The imported version arrived after the digest, which therefore does not cover it. */
  | 'newer';

/** A digest with its services indexed by name. */
export interface IndexedDigest {
  readonly received: ReceivedDigest;
  /** Keyed by name, in the form in which names are compared. */
  readonly services: ReadonlyMap<string, { readonly name: string; readonly contentHash: string }>;
}

/** Indexes the last digest of a stream, or returns `undefined` when this server has none. */
export function indexDigest(stream: StreamLocation): IndexedDigest | undefined {
  const received = stream.kind === 'here' ? stream.insight.incoming.digest() : undefined;
  if (received === undefined) return undefined;
  const { services } = received.digest;
  const named = services.map(
    ({ name, hash }) => [nameKey(name), { name, contentHash: Buffer.from(hash).toString('base64url') }] as const,
  );
  return { received: received, services: new Map(named) };
}

export function noDigestReason(stream: StreamLocation): string {
  if (stream.kind === 'none') return 'no stream is open';
  if (stream.kind === 'elsewhere')
    return `only server ${stream.server}, which holds the stream, can compare: send the request there`;
  if (stream.insight.peerVersion === undefined) return 'the peer is not an Accord cluster and sends no digest';
  return 'the peer has not sent a digest yet';
}

export interface LocalService {
  readonly service: string;
  /** The hash of the imported row. `undefined` when the service is not imported. */
  readonly contentHash: string | undefined;
  /** Whether the peer's newest list contains the service. */
  readonly listed: boolean;
}

/** Compares one service. Returns `undefined` when it exists neither here nor in the digest. */
export function compareService(
  { received, services }: IndexedDigest,
  incoming: IncomingDelivery,
  { service, contentHash: localHash, listed }: LocalService,
): Comparison | undefined {
  const there = services.get(nameKey(service));
  const taken = incoming.applied(service);
  // Equal content can arrive with another hash and then does not change the row.
  const here = localHash === undefined ? undefined : (taken?.contentHash ?? localHash);
  const isNewer = (order: number | undefined): boolean => order !== undefined && order > received.order;
  if (there === undefined) {
    if (here === undefined) return undefined;
    return isNewer(taken?.order) ? 'newer' : 'extra';
  }
  if (here !== undefined && there.contentHash === here) return 'same';
  if (isNewer(taken?.order)) return 'newer';
  if (there.contentHash === '') return 'unsent';
  if (here !== undefined) return 'stale';
  // A list newer than the digest may have removed the service.
  return isNewer(incoming.listOrder) && !listed ? 'newer' : 'missing';
}
