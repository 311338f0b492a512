/** Whom a peering dials and with what, as the state says now; pure. */
import type { Reader } from '../../state/reader.ts';
import { rowTopic, type Topic } from '../../state/waiting.ts';
import { peerings } from '../record.ts';
import type { SecretStore } from '../sealed.ts';
import { links, streamSecretPlace, tombstones } from '../secrets.ts';

export interface DialPlan {
  /** Names the peering in logs. */
  readonly name: string;
  /** The other side's ID of the peering. */
  readonly peerId: string;
  readonly serverName: string;
  readonly addresses: readonly string[];
  readonly roots: readonly string[];
  readonly streamSecret: string;
  readonly partition: string;
  /** The peering was deleted here: the other side is dialed to be told. */
  readonly deleted: boolean;
}

/**
 * Undefined: there is nothing to dial, as the peering is TERMINATED, or its secret was left out of an import.
 * @throws DataKeyError when the secret is sealed with another key
 */
export function dialPlan(reader: Reader, secrets: SecretStore, peeringId: string): DialPlan | undefined {
  const row = reader.get(peerings, peeringId)?.row;
  const tombstone = reader.get(tombstones, peeringId)?.row;
  const deleted = tombstone !== undefined;
  const link = deleted ? tombstone.link : reader.get(links, peeringId)?.row;
  const peer = deleted ? tombstone.link?.peer : row?.peer;
  if (link === undefined || peer === undefined || (!deleted && row?.state === 'TERMINATED')) return undefined;
  return {
    name: row?.name ?? peeringId,
    peerId: peer.id,
    serverName: peer.serverName,
    addresses: peer.addresses,
    roots: link.roots,
    streamSecret: secrets.open(link.secret, streamSecretPlace(peeringId)),
    partition: row?.partition ?? '',
    deleted,
  };
}

/** Whether a stream that was opened by one plan is still what the other asks for. */
export function sameStream(a: DialPlan, b: DialPlan | undefined): boolean {
  return (
    a.peerId === b?.peerId &&
    a.streamSecret === b.streamSecret &&
    a.serverName === b.serverName &&
    a.deleted === b.deleted
  );
}

/** What a plan depends on. */
export const dialTopics = (peeringId: string): readonly Topic[] => [
  rowTopic(peerings, peeringId),
  rowTopic(links, peeringId),
  rowTopic(tombstones, peeringId),
];
