/** Whom a peering dials and with what, as the state says now; pure. */
import type { Reader } from '../../../state/memory/reader.ts';
import { rowTopic, type Topic } from '../../../state/watch/change-notifier.ts';
import type { SecretStore } from '../../record/encrypted-secret.ts';
import { peerings } from '../../record/record.ts';
import { links, streamSecretPlace, tombstones } from '../../record/secrets.ts';

export interface DialPlan {
  /** Names the peering in logs. */
  readonly name: string;
  /** The other side's ID of the peering. */
  readonly peerId: string;
  readonly serverName: string;
  readonly addresses: readonly string[];
  /** They were given by hand: the servers behind them may not be reached under addresses of their own. */
  readonly manual: boolean;
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
  // The record may be gone by now: who is told of the deletion must not be told another name and partition with it.
  const known = row ?? tombstone?.link;
  if (link === undefined || peer === undefined || (!deleted && row?.state === 'TERMINATED')) return undefined;
  return {
    name: known?.name ?? peeringId,
    peerId: peer.id,
    serverName: peer.serverName,
    addresses: peer.addresses,
    manual: peer.manual,
    roots: link.roots,
    streamSecret: secrets.open(link.secret, streamSecretPlace(peeringId)),
    partition: known?.partition ?? '',
    deleted,
  };
}

/**
 * Why nothing is dialed for a peering that is not TERMINATED; undefined: that is not so, or its record says it already. A
 * server that starts from an export without secrets has such peerings.
 */
export function untoldLoss(reader: Reader, peeringId: string): string | undefined {
  const row = reader.get(peerings, peeringId)?.row;
  if (row?.role !== 'dialing' || row.state !== 'INITIAL' || row.failing?.reason === LINK_LOST) return undefined;
  return reader.get(links, peeringId) === undefined ? LINK_LOST : undefined;
}

const LINK_LOST = 'its secret was left out of an import: establish it again, with a new token';

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
