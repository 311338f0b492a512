/**
 * Which peers have acknowledged the trust bundle that names an announced root. Only peers that dial this cluster verify
 * its certificate, so only they are asked; and only those that a new root would cut off: an unused token counts for
 * nobody. Who is away is waited for as well, until the stage ends.
 */
import { hash } from 'node:crypto';
import type { Reader } from '../../state/memory/reader.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type Peering, peerings } from '../record/record.ts';
import { acceptedSecrets } from '../record/secrets.ts';
import { authorityOf, bundleOf } from './authority.ts';

/** The last bundle of a rotation that a peer has acknowledged. One of an earlier rotation counts for nothing. */
export interface Acknowledgement {
  readonly peeringId: string;
  /** `bundleFingerprint` of what it trusts. */
  readonly bundle: string;
  /** RFC 3339. */
  readonly time: string;
}

export const acknowledgements = defineTable<Acknowledgement>()({
  name: 'ca-acknowledgements',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: {
    peering: { entry: ({ peeringId }) => peeringId },
    bundle: { entry: ({ bundle }) => bundle, watched: true },
  },
  owners: [{ table: peerings, index: 'peering' }],
});

/** Stands for a set of roots, in whatever order they are named. @param roots PEM, as `ServerIdentity.roots` gives them */
export const bundleFingerprint = (roots: readonly string[]): string =>
  hash('sha256', roots.toSorted().join(''), 'base64url');

/** The fingerprint that is waited for; undefined: no root is announced. */
export function awaitedBundle(reader: Reader): string | undefined {
  const row = authorityOf(reader);
  return row.rotation?.stage === 'announced' ? bundleFingerprint(bundleOf(row)) : undefined;
}

/** Whether an acknowledgement of this peer would change anything: without, no write is needed. */
export function wantsAcknowledgement(reader: Reader, peeringId: string): boolean {
  const bundle = awaitedBundle(reader);
  return bundle !== undefined && reader.get(acknowledgements, peeringId)?.row.bundle !== bundle;
}

/**
 * The peer has acknowledged a trust bundle. Does nothing unless it is the one that is waited for.
 * @param rootsFingerprint `bundleFingerprint` of the roots that it was sent
 */
export function recordAcknowledgement(tx: Transaction, peeringId: string, rootsFingerprint: string): void {
  if (rootsFingerprint !== awaitedBundle(tx) || !wantsAcknowledgement(tx, peeringId)) return;
  if (tx.get(peerings, peeringId) === undefined) return;
  tx.put(acknowledgements, { peeringId, bundle: rootsFingerprint, time: new Date(tx.now).toISOString() });
}

/** The peers that an announced root waits for, by ID; empty when none is announced. */
export function unacknowledged(reader: Reader): readonly DeepReadonly<Peering>[] {
  const bundle = awaitedBundle(reader);
  if (bundle === undefined) return [];
  return reader
    .list(peerings, 'role', 'accepting')
    .map(({ row }) => row)
    .filter((row) => isConnected(reader, row) && reader.get(acknowledgements, row.id)?.row.bundle !== bundle);
}

/** Whether the other side has used its token: it trusts what that named, and would lose its way back. */
function isConnected(reader: Reader, { id, state }: DeepReadonly<Peering>): boolean {
  if (state === 'TERMINATED') return false;
  const secrets = reader.get(acceptedSecrets, id)?.row;
  return secrets?.active !== undefined || secrets?.pending !== undefined;
}
