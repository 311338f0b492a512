/**
 * What streams do to records: each function is one commit. A stream is fenced by its epoch: only the newest one of a
 * peering counts, wherever it is held, and what an older one still says about the record changes nothing.
 */
import { Code } from '@connectrpc/connect';
import type { State } from '../../../state/state.ts';
import { STREAM_OPENS_BURST, STREAM_OPENS_MS } from '../../limits.ts';
import {
  type CurrentStream,
  type DeadLink,
  type Failing,
  peerings,
  streamLost,
  streamOpened,
  streamRefused,
  terminatedByPeer,
} from '../../record/record.ts';
import { isRemoteName, REMOTE_NAME_WANTED } from '../../record/remote-name.ts';
import {
  acceptedSecrets,
  isOfTombstone,
  links,
  presentedStreamSecret,
  toldTo,
  tombstones,
} from '../../record/secrets.ts';
import type { Open, StreamStatus } from '../contract.ts';
import type { OpenRate } from './open-rate.ts';

/** The server that holds a stream, and which of its lives. */
export type Holder = Omit<CurrentStream, 'epoch'>;

/** What an Open comes to. */
export type OpenOutcome =
  | { readonly kind: 'accepted'; readonly epoch: number; readonly name: string }
  | { readonly kind: 'refused'; readonly status: StreamStatus & { readonly code: Code } }
  | { readonly kind: 'deleted' };

/** The accepting side: checks the secret, promotes a pending one, and makes this stream the one that counts. */
export async function acceptOpen(state: State, open: Open, holder: Holder, rate: OpenRate): Promise<OpenOutcome> {
  const { PeerID, StreamSecretID, Remote } = open;
  const remote = { partition: Remote?.Partition ?? '', datacenter: Remote?.Datacenter ?? '' };
  if (!isRemoteName(remote.partition) || !isRemoteName(remote.datacenter))
    return refused(Code.InvalidArgument, NO_NAME);
  return await state.write((tx): OpenOutcome => {
    const row = tx.get(peerings, PeerID)?.row;
    const tombstone = tx.get(tombstones, PeerID)?.row;
    if (row === undefined || row.role !== 'accepting' || row.deletedAt !== undefined) {
      // Only who was a peer is told that the peering was deleted; for others there never was one.
      return tombstone !== undefined && isOfTombstone(tombstone, StreamSecretID)
        ? { kind: 'deleted' }
        : refused(Code.InvalidArgument, 'unknown peering ID');
    }
    const presented = presentedStreamSecret(tx.get(acceptedSecrets, PeerID)?.row, StreamSecretID);
    const opened = presented === undefined ? undefined : streamOpened(row, holder, remote);
    if (presented === undefined || opened === undefined) {
      return refused(Code.PermissionDenied, 'invalid peering stream secret');
    }
    // After the secret: who has none must not learn how busy the peering is, nor keep its streams out.
    if (!tx.once(() => rate.take(PeerID))) return refused(Code.ResourceExhausted, TOO_OFTEN);
    if (presented.which === 'pending') tx.put(acceptedSecrets, presented.next);
    tx.put(peerings, opened);
    return { kind: 'accepted', epoch: opened.stream.epoch, name: row.name };
  });
}

const NO_NAME = `the Open names a partition or a datacenter that is no name: want ${REMOTE_NAME_WANTED}`;
const TOO_OFTEN = `streams of this peering are opened too often: more than ${STREAM_OPENS_BURST}, and one every ${STREAM_OPENS_MS} ms`;

const refused = (code: Code, message: string): OpenOutcome => ({ kind: 'refused', status: { code, message } });

/**
 * The dialing side: the other one has authorized our stream, so it is the one that counts.
 * @param peerId whom the stream was opened to: the record may be about another peer by now
 * @returns its epoch; undefined: the record is gone, TERMINATED, or about another peer by now
 */
export async function claimDialed(
  state: State,
  peeringId: string,
  peerId: string,
  holder: Holder,
): Promise<number | undefined> {
  return await state.write((tx) => {
    const row = tx.get(peerings, peeringId)?.row;
    const opened = row === undefined || row.peer?.id !== peerId ? undefined : streamOpened(row, holder);
    if (opened === undefined) return undefined;
    tx.put(peerings, opened);
    return opened.stream.epoch;
  });
}

/**
 * The accepting side: a peer that opened its stream with this secret knows that the peering was deleted here. There may
 * be another secret, that of an establish which has not opened a stream yet.
 */
export async function reportTold(state: State, peeringId: string, presented: string): Promise<void> {
  await state.write((tx) => {
    const tombstone = tx.get(tombstones, peeringId)?.row;
    if (tombstone === undefined || !isOfTombstone(tombstone, presented)) return;
    const left = toldTo(tombstone, presented);
    if (left === undefined) tx.delete(tombstones, peeringId);
    else tx.put(tombstones, left);
  });
}

/** The stream is gone: the record says so, unless a newer one counts. */
export async function reportLost(state: State, peeringId: string, epoch: number, reason: string): Promise<void> {
  await state.write((tx) => {
    const row = tx.get(peerings, peeringId)?.row;
    const lost = row && streamLost(row, epoch, { since: new Date(tx.now).toISOString(), reason });
    if (lost !== undefined) tx.put(peerings, lost);
  });
}

/** A stream cannot be had: the record says why. */
export async function reportRefused(state: State, peeringId: string, reason: string, link?: DeadLink): Promise<void> {
  const refusedAt = (nowMs: number): Failing => ({
    since: new Date(nowMs).toISOString(),
    reason,
    ...(link !== undefined && { link }),
  });
  const row = state.snapshot.get(peerings, peeringId)?.row;
  if (row === undefined || streamRefused(row, refusedAt(0)) === undefined) return;
  await state.write((tx) => {
    const now = tx.get(peerings, peeringId)?.row;
    const failing = now && streamRefused(now, refusedAt(tx.now));
    if (failing !== undefined) tx.put(peerings, failing);
  });
}

/**
 * The other side has deleted the peering: TERMINATED, and no secret is kept. That is final, so it does not matter
 * whether the stream that said so still counts.
 * @param peerId dialing side: whom the stream was opened to; the record may be about another peer by now
 */
export async function reportTerminated(state: State, peeringId: string, peerId?: string): Promise<void> {
  await state.write((tx) => {
    const row = tx.get(peerings, peeringId)?.row;
    const terminated = row === undefined || row.peer?.id !== peerId ? undefined : terminatedByPeer(row);
    if (terminated === undefined) return;
    tx.put(peerings, terminated);
    tx.delete(acceptedSecrets, peeringId);
    tx.delete(links, peeringId);
  });
}
