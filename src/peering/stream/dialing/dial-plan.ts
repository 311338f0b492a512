/** The target and credentials of a peering's stream, read from the state. */
import type { Reader } from '../../../state/memory/reader.ts';
import { rowTopic, type Topic } from '../../../state/watch/change-notifier.ts';
import type { SecretStore } from '../../record/encrypted-secret.ts';
import { peerings } from '../../record/record.ts';
import { links, streamSecretContext, tombstones } from '../../record/secrets.ts';

export interface DialPlan {
  readonly name: string;
  /** The other side's ID of the peering. */
  readonly peerId: string;
  readonly serverName: string;
  readonly addresses: readonly string[];
  /** Whether an operator set the addresses. The servers may not be reachable at the addresses that they announce. */
  readonly manual: boolean;
  readonly roots: readonly string[];
  readonly streamSecret: string;
  readonly partition: string;
  /** Whether the peering was deleted here. The stream then only reports the deletion ([PEER-73]). */
  readonly deleted: boolean;
}

/**
 * Returns what to dial, or `undefined` when the peering is TERMINATED or its secret is missing after an import.
 * @throws DataKeyError when the secret is encrypted with another data key
 */
export function dialPlan(reader: Reader, secrets: SecretStore, peeringId: string): DialPlan | undefined {
  const row = reader.get(peerings, peeringId)?.row;
  const tombstone = reader.get(tombstones, peeringId)?.row;
  const deleted = tombstone !== undefined;
  const link = deleted ? tombstone.link : reader.get(links, peeringId)?.row;
  const peer = deleted ? tombstone.link?.peer : row?.peer;
  // The record may have been removed. The tombstone then has the name and partition to send.
  const known = row ?? tombstone?.link;
  if (link === undefined || peer === undefined || (!deleted && row?.state === 'TERMINATED')) return undefined;
  return {
    name: known?.name ?? peeringId,
    peerId: peer.id,
    serverName: peer.serverName,
    addresses: peer.addresses,
    manual: peer.manual,
    roots: link.roots,
    streamSecret: secrets.decrypt(link.secret, streamSecretContext(peeringId)),
    partition: known?.partition ?? '',
    deleted,
  };
}

/**
 * Returns the reason why a peering cannot be dialed after an import without secrets ([PEER-78]). Returns `undefined`
 * when it can be dialed, or when its record already has this reason.
 */
export function missingSecretReason(reader: Reader, peeringId: string): string | undefined {
  const row = reader.get(peerings, peeringId)?.row;
  if (row?.role !== 'dialing' || row.state !== 'INITIAL' || row.failing?.reason === SECRET_MISSING) return undefined;
  return reader.get(links, peeringId) === undefined ? SECRET_MISSING : undefined;
}

const SECRET_MISSING = 'its secret was left out of an import: establish it again, with a new token';

/** Whether a stream opened with plan `a` is also valid for plan `b` ([PEER-77]). */
export function isSameStream(a: DialPlan, b: DialPlan | undefined): boolean {
  return (
    a.peerId === b?.peerId &&
    a.streamSecret === b.streamSecret &&
    a.serverName === b.serverName &&
    a.deleted === b.deleted
  );
}

/** Returns the rows that a plan is read from. */
export const dialTopics = (peeringId: string): readonly Topic[] => [
  rowTopic(peerings, peeringId),
  rowTopic(links, peeringId),
  rowTopic(tombstones, peeringId),
];
