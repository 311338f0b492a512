/**
 * The tables with the secrets of peerings, and the checks of presented secrets. The accepting side stores SHA-256
 * hashes: of the establishment secret, the pending stream secret and the active one. The dialing side must present its
 * stream secret, so it stores the secret itself, encrypted if there is a data key.
 */
import { hash, randomUUID, timingSafeEqual } from 'node:crypto';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { StoredSecret } from './encrypted-secret.ts';
import { nameEntry, type PeerServer, peerings, type Role } from './record.ts';

/** An unused peering token on the accepting side. */
export interface Establishment {
  readonly hash: string;
  /** The accessor ID of the ACL token that generated it. `undefined`: the anonymous token. */
  readonly accessorId?: string;
  /** RFC 3339. */
  readonly createTime: string;
  /** RFC 3339. `undefined`: never expires. */
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

/** The secret and CA roots with which the dialing side opens a stream. */
export interface Link {
  readonly peeringId: string;
  readonly secret: StoredSecret;
  /** PEM certificates, each ending in a newline: from the token at first, later from the last trust bundle. */
  readonly roots: readonly string[];
  /** The other cluster's. Empty when its server name has no trust domain. */
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

/** The link of a deleted peering, with the fields of its record that dialing needs. */
export interface TombstoneLink extends Omit<Link, 'peeringId'> {
  readonly peer: PeerServer;
  /** Absent in rows of earlier versions, as is `partition`. */
  readonly name?: string;
  readonly partition?: string;
}

/** The tombstone of a deleted peering ([PEER-71]). It contains what is needed to report the deletion to the peer. */
export interface Tombstone {
  readonly peeringId: string;
  readonly role: Role;
  /** Expiry, RFC 3339. */
  readonly until: string;
  /** Accepting side: hashes of the stream secrets whose holders learn of the deletion. */
  readonly hashes: readonly string[];
  /** Dialing side: how to reach the other side. */
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

export interface Reservation {
  readonly partition: string;
  readonly name: string;
  /** The ID of the establish. */
  readonly id: string;
  /** Expiry, RFC 3339. */
  readonly until: string;
}

export const reservations = defineTable<Reservation>()({
  name: 'peering-reservations',
  key: ({ partition, name }) => nameEntry(partition, name),
  formats: { version: 1 },
  indexes: {},
  expiresAt: ({ until }) => Date.parse(until),
});

/** Returns the hash of a secret, as base64. Secrets are random UUIDs, so it needs no salt. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'base64');

/** Whether a presented secret has this hash. Takes constant time. */
function matchesHash(presented: string, hash: string | undefined): boolean {
  if (hash === undefined) return false;
  return timingSafeEqual(Buffer.from(hashOf(presented), 'base64'), Buffer.from(hash, 'base64'));
}

/** Whether a presented stream secret belongs to the deleted peering. */
export function matchesTombstone({ hashes }: DeepReadonly<Tombstone>, presented: string): boolean {
  // Compares all hashes, so that the time does not reveal which hash matches.
  return hashes.filter((hash) => matchesHash(presented, hash)).length > 0;
}

/** Removes the hash of a peer that confirmed the deletion. Returns `undefined` when no hash is left ([PEER-74]). */
export function confirmTombstone(
  tombstone: DeepReadonly<Tombstone>,
  presented: string,
): DeepReadonly<Tombstone> | undefined {
  const hashes = tombstone.hashes.filter((hash) => !matchesHash(presented, hash));
  return hashes.length === 0 ? undefined : { ...tombstone, hashes };
}

/** Whether a token is unused and has not expired. */
export function isOutstanding(establishment: Establishment | undefined, nowMs: number): establishment is Establishment {
  if (establishment === undefined) return false;
  const { expirationTime } = establishment;
  return expirationTime === undefined || Date.parse(expirationTime) > nowMs;
}

/** The hash compared when there is no secret, so that a missing secret costs the same as a wrong one. */
const NO_HASH = hashOf(randomUUID());

/** Replaces the presented establishment secret with a pending stream secret. Returns `undefined` for a wrong one. */
export function spendEstablishmentSecret(
  secrets: DeepReadonly<AcceptedSecrets> | undefined,
  presented: string,
  pendingHash: string,
  nowMs: number,
): AcceptedSecrets | undefined {
  const establishment = secrets?.establishment;
  const matches = matchesHash(presented, establishment?.hash ?? NO_HASH);
  if (!matches || secrets === undefined || !isOutstanding(establishment, nowMs)) return undefined;
  const { establishment: _spent, ...rest } = secrets;
  return { ...rest, pending: pendingHash };
}

/** Matches a presented stream secret. A pending one becomes active. Returns `undefined` when neither matches. */
export function matchStreamSecret(
  secrets: DeepReadonly<AcceptedSecrets> | undefined,
  presented: string,
): { readonly which: 'active' | 'pending'; readonly next: AcceptedSecrets } | undefined {
  if (secrets === undefined) return undefined;
  // Compares both hashes, so that the time does not depend on the match.
  const active = matchesHash(presented, secrets.active);
  const pending = matchesHash(presented, secrets.pending);
  if (active) return { which: 'active', next: secrets };
  if (!pending || secrets.pending === undefined) return undefined;
  const { pending: promoted, ...rest } = secrets;
  return { which: 'pending', next: { ...rest, active: promoted } };
}

/** The encryption context of the stream secret in a link or a tombstone. */
export const streamSecretContext = (peeringId: string): string => `${links.name}/${peeringId}/secret`;
