/**
 * What peerings keep secret. The accepting side keeps hashes only: the SHA-256 of an establishment secret, of the
 * pending stream secret that it was exchanged for, and of the active one. The dialing side must present its stream
 * secret, so it keeps it (sealed where a data key is set), with the roots that it trusts.
 */
import { hash, randomUUID, timingSafeEqual } from 'node:crypto';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { StoredSecret } from './encrypted-secret.ts';
import { nameEntry, type PeerServer, peerings, type Role } from './record.ts';

/** An unused peering token, as its maker's side remembers it. */
export interface Establishment {
  readonly hash: string;
  /** The accessor ID of the ACL token that made it; undefined: the anonymous token. */
  readonly accessorId?: string;
  /** RFC 3339. */
  readonly createTime: string;
  /** RFC 3339; undefined: never. */
  readonly expirationTime?: string;
}

/** The accepting side's secrets of one peering, as hashes. */
export interface AcceptedSecrets {
  readonly peeringId: string;
  readonly establishment?: Establishment;
  readonly pending?: string;
  readonly active?: string;
}

export const acceptedSecrets = defineTable<AcceptedSecrets>()({
  name: 'peering-secrets',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId } },
  owners: [{ table: peerings, index: 'peering' }],
  holdsSecrets: true,
});

/** What the dialing side needs to open a stream. */
export interface Link {
  readonly peeringId: string;
  readonly secret: StoredSecret;
  /** PEM certificates, each ending in a newline: what the token named, then what the last trust bundle names. */
  readonly roots: readonly string[];
  /** Of the other cluster; empty where its server name does not tell. */
  readonly trustDomain: string;
}

export const links = defineTable<Link>()({
  name: 'peering-links',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId } },
  owners: [{ table: peerings, index: 'peering' }],
  holdsSecrets: true,
});

/** A link whose record is gone: with what that said of whom to dial, and as whom. */
export interface TombstoneLink extends Omit<Link, 'peeringId'> {
  readonly peer: PeerServer;
  /** The record's; absent in rows that were written before they were kept. */
  readonly name?: string;
  readonly partition?: string;
}

/** What stays of a deleted peering until the other side knows: enough to tell it, and nobody else. */
export interface Tombstone {
  readonly peeringId: string;
  readonly role: Role;
  /** RFC 3339: it is forgotten then. */
  readonly until: string;
  /** Accepting side: hashes of the stream secrets that get the answer. */
  readonly hashes: readonly string[];
  /** Dialing side: how to reach the other one. */
  readonly link?: TombstoneLink;
}

export const tombstones = defineTable<Tombstone>()({
  name: 'peering-tombstones',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: { role: { entry: ({ role }) => role } },
  expiresAt: ({ until }) => Date.parse(until),
  holdsSecrets: true,
});

/** A name that an establish under way holds, so that a failed one leaves nothing behind. */
export interface Reservation {
  readonly partition: string;
  readonly name: string;
  /** Whose it is. */
  readonly id: string;
  /** RFC 3339. */
  readonly until: string;
}

export const reservations = defineTable<Reservation>()({
  name: 'peering-reservations',
  key: ({ partition, name }) => nameEntry(partition, name),
  formats: { version: 1 },
  indexes: {},
  expiresAt: ({ until }) => Date.parse(until),
});

/** What is kept of a secret here, as base64. Secrets are random UUIDs: no salt is needed. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'base64');

/** Whether a presented secret has the kept hash; in constant time. */
function matchesHash(presented: string, hash: string | undefined): boolean {
  if (hash === undefined) return false;
  return timingSafeEqual(Buffer.from(hashOf(presented), 'base64'), Buffer.from(hash, 'base64'));
}

/** Whether who presents a stream secret was a peer of the deleted peering. */
export function isOfTombstone({ hashes }: DeepReadonly<Tombstone>, presented: string): boolean {
  // All are compared whatever the first one gives.
  return hashes.filter((hash) => matchesHash(presented, hash)).length > 0;
}

/** The tombstone once a peer that presented this secret knows; undefined: nobody else has to be told. */
export function toldTo(tombstone: DeepReadonly<Tombstone>, presented: string): DeepReadonly<Tombstone> | undefined {
  const hashes = tombstone.hashes.filter((hash) => !matchesHash(presented, hash));
  return hashes.length === 0 ? undefined : { ...tombstone, hashes };
}

/** Whether there is a token that could still be used. */
export function isOutstanding(establishment: Establishment | undefined, nowMs: number): establishment is Establishment {
  if (establishment === undefined) return false;
  const { expirationTime } = establishment;
  return expirationTime === undefined || Date.parse(expirationTime) > nowMs;
}

/** Stands for the hash of a secret that is not there, so that it is refused at the same cost as a wrong one. */
const NO_HASH = hashOf(randomUUID());

/** The establishment secret was presented: it is spent, and a pending stream secret stands in its place. */
export function exchanged(
  secrets: DeepReadonly<AcceptedSecrets> | undefined,
  presented: string,
  pendingHash: string,
  nowMs: number,
): AcceptedSecrets | undefined {
  const establishment = secrets?.establishment;
  const matches = matchesHash(presented, establishment?.hash ?? NO_HASH);
  if (!matches || secrets === undefined || !isOutstanding(establishment, nowMs)) return undefined;
  const { establishment: _spent, ...kept } = secrets;
  return { ...kept, pending: pendingHash };
}

/** Which stream secret was presented; a pending one that is used becomes the active one. Undefined: neither. */
export function presentedStreamSecret(
  secrets: DeepReadonly<AcceptedSecrets> | undefined,
  presented: string,
): { readonly which: 'active' | 'pending'; readonly next: AcceptedSecrets } | undefined {
  if (secrets === undefined) return undefined;
  // Both are compared whatever the first one gives.
  const active = matchesHash(presented, secrets.active);
  const pending = matchesHash(presented, secrets.pending);
  if (active) return { which: 'active', next: secrets };
  if (!pending || secrets.pending === undefined) return undefined;
  const { pending: promoted, ...kept } = secrets;
  return { which: 'pending', next: { ...kept, active: promoted } };
}

/** Where the stream secret of a dialing peering stands, in its link or its tombstone. */
export const streamSecretPlace = (peeringId: string): string => `${links.name}/${peeringId}/secret`;
