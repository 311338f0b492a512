/**
 * Acknowledgments of the trust bundle that contains an announced CA root. Only peers that dial this cluster verify its
 * certificate, so a rotation waits for peerings of the accepting role. It ignores unused tokens, and it waits for
 * disconnected peers until the stage ends ([PEER-87]).
 */
import { hash } from 'node:crypto';
import type { Reader } from '../../state/memory/reader.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type Peering, peerings } from '../record/record.ts';
import { acceptedSecrets } from '../record/secrets.ts';
import { authorityRow, trustedRoots } from './authority.ts';

/** The last trust bundle that a peer acknowledged. It is ignored when it belongs to an earlier rotation. */
export interface Acknowledgment {
  readonly peeringId: string;
  /** `bundleFingerprint` of the acknowledged CA roots. */
  readonly bundle: string;
  /** RFC 3339. */
  readonly time: string;
}

export const acknowledgments = defineTable<Acknowledgment>()({
  name: 'ca-acknowledgements',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: {
    peering: { entry: ({ peeringId }) => peeringId },
    bundle: { entry: ({ bundle }) => bundle, watched: true },
  },
  owners: [{ table: peerings, index: 'peering' }],
});

/** Returns a hash of CA roots that ignores their order. @param roots PEM, as in `ServerIdentity.roots` */
export const bundleFingerprint = (roots: readonly string[]): string =>
  hash('sha256', roots.toSorted().join(''), 'base64url');

/** Returns the fingerprint that peers have to acknowledge, or `undefined` when no CA root is announced. */
export function awaitedBundle(reader: Reader): string | undefined {
  const row = authorityRow(reader);
  return row.rotation?.stage === 'announced' ? bundleFingerprint(trustedRoots(row)) : undefined;
}

/** Whether an acknowledgment of this peer would change the state. If not, the caller can skip the write. */
export function awaitsAcknowledgment(reader: Reader, peeringId: string): boolean {
  const bundle = awaitedBundle(reader);
  return bundle !== undefined && reader.get(acknowledgments, peeringId)?.row.bundle !== bundle;
}

/**
 * Records that a peer acknowledged a trust bundle. Ignores a bundle other than the awaited one ([STREAM-70]).
 * @param rootsFingerprint `bundleFingerprint` of the CA roots that were sent to it
 */
export function recordAcknowledgment(tx: Transaction, peeringId: string, rootsFingerprint: string): void {
  if (rootsFingerprint !== awaitedBundle(tx) || !awaitsAcknowledgment(tx, peeringId)) return;
  if (tx.get(peerings, peeringId) === undefined) return;
  tx.put(acknowledgments, { peeringId, bundle: rootsFingerprint, time: new Date(tx.now).toISOString() });
}

/** Returns the peerings that an announced CA root waits for, in order of ID. Empty when none is announced. */
export function unacknowledgedPeerings(reader: Reader): readonly DeepReadonly<Peering>[] {
  const bundle = awaitedBundle(reader);
  if (bundle === undefined) return [];
  return reader
    .list(peerings, 'role', 'accepting')
    .map(({ row }) => row)
    .filter((row) => hasUsedToken(reader, row) && reader.get(acknowledgments, row.id)?.row.bundle !== bundle);
}

/** Whether the peer has used its token. It then trusts the old CA root only, and a rotation could lock it out. */
function hasUsedToken(reader: Reader, { id, state }: DeepReadonly<Peering>): boolean {
  if (state === 'TERMINATED') return false;
  const secrets = reader.get(acceptedSecrets, id)?.row;
  return secrets?.active !== undefined || secrets?.pending !== undefined;
}
