/**
 * The writes of streams to the record of their peering, one commit each. The epoch fences them: a write of a stream
 * that is not the current one changes nothing ([PEER-75], [PEER-76]).
 */
import { Code } from '@connectrpc/connect';
import type { State } from '../../../state/state.ts';
import { BACKOFF_MS_MIN, STREAM_OPENS_BURST } from '../../limits.ts';
import {
  type CurrentStream,
  type DeadLink,
  type Failing,
  isRemoteName,
  peerings,
  REMOTE_NAME_WANTED,
  recordBytes,
  streamLost,
  streamOpened,
  streamOpenFailed,
  terminatedByPeer,
} from '../../record/record.ts';
import {
  acceptedSecrets,
  confirmTombstone,
  links,
  matchesTombstone,
  matchStreamSecret,
  tombstones,
} from '../../record/secrets.ts';
import type { Open, StreamStatus } from '../contract.ts';
import type { OpenRate } from './open-rate.ts';

/** The server that holds a stream, and its incarnation. */
export type Holder = Omit<CurrentStream, 'epoch'>;

export type OpenOutcome =
  | { readonly kind: 'accepted'; readonly epoch: number; readonly name: string }
  | { readonly kind: 'refused'; readonly status: StreamStatus & { readonly code: Code } }
  | { readonly kind: 'deleted' };

/** Checks the secret, promotes a pending one, and makes this stream the current one ([STREAM-27], [STREAM-28]). */
export async function acceptOpen(state: State, open: Open, holder: Holder, rate: OpenRate): Promise<OpenOutcome> {
  const { PeerID, StreamSecretID, Remote } = open;
  const remote = { partition: Remote?.Partition ?? '', datacenter: Remote?.Datacenter ?? '' };
  if (!isRemoteName(remote.partition) || !isRemoteName(remote.datacenter))
    return refused(Code.InvalidArgument, INVALID_REMOTE_NAME);
  return await state.write((tx): OpenOutcome => {
    const row = tx.get(peerings, PeerID)?.row;
    const tombstone = tx.get(tombstones, PeerID)?.row;
    if (row === undefined || row.role !== 'accepting' || row.deletedAt !== undefined) {
      // Reports a deletion only to a caller with a secret of the peering ([PEER-72]).
      return tombstone !== undefined && matchesTombstone(tombstone, StreamSecretID)
        ? { kind: 'deleted' }
        : refused(Code.InvalidArgument, 'unknown peering ID');
    }
    const presented = matchStreamSecret(tx.get(acceptedSecrets, PeerID)?.row, StreamSecretID);
    const opened = presented === undefined ? undefined : streamOpened(row, holder, remote);
    if (presented === undefined || opened === undefined) {
      return refused(Code.PermissionDenied, 'invalid peering stream secret');
    }
    // Checked after the secret, so that a caller without one cannot use up the rate or observe it.
    if (!tx.memoizeAcrossRetries(() => rate.tryAcquire(PeerID, recordBytes(row))))
      return refused(Code.ResourceExhausted, OPENED_TOO_OFTEN);
    if (presented.which === 'pending') tx.put(acceptedSecrets, presented.next);
    tx.put(peerings, opened);
    return { kind: 'accepted', epoch: opened.stream.epoch, name: row.name };
  });
}

const INVALID_REMOTE_NAME = `the Open names a partition or a datacenter that is not a valid name: want ${REMOTE_NAME_WANTED}`;
const OPENED_TOO_OFTEN = `streams of this peering are opened too often: more than ${STREAM_OPENS_BURST}, and one every ${BACKOFF_MS_MIN} ms`;

const refused = (code: Code, message: string): OpenOutcome => ({ kind: 'refused', status: { code, message } });

/**
 * Makes a stream of the dialing side the current one after the other side has authorized it.
 * @param peerId the ID that the stream was opened with
 * @returns its epoch, or `undefined` when the record is missing, TERMINATED, or has another peer ID by now
 */
export async function claimDialedStream(
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
 * Removes a stream secret from the tombstone after its peer has confirmed the deletion ([PEER-74]). The tombstone may
 * have another secret, of an establish that has not opened a stream.
 */
export async function confirmDeletion(state: State, peeringId: string, presented: string): Promise<void> {
  await state.write((tx) => {
    const tombstone = tx.get(tombstones, peeringId)?.row;
    if (tombstone === undefined || !matchesTombstone(tombstone, presented)) return;
    const remaining = confirmTombstone(tombstone, presented);
    if (remaining === undefined) tx.delete(tombstones, peeringId);
    else tx.put(tombstones, remaining);
  });
}

/** Records the end of a stream, unless a newer one is current. */
export async function recordStreamLost(state: State, peeringId: string, epoch: number, reason: string): Promise<void> {
  await state.write((tx) => {
    const row = tx.get(peerings, peeringId)?.row;
    const lost = row && streamLost(row, epoch, { since: new Date(tx.now).toISOString(), reason });
    if (lost !== undefined) tx.put(peerings, lost);
  });
}

/** Records why no stream could be opened ([PEER-27]). */
export async function recordOpenFailed(
  state: State,
  peeringId: string,
  reason: string,
  link?: DeadLink,
): Promise<void> {
  const refusedAt = (nowMs: number): Failing => ({
    since: new Date(nowMs).toISOString(),
    reason,
    ...(link !== undefined && { link }),
  });
  const row = state.snapshot.get(peerings, peeringId)?.row;
  if (row === undefined || streamOpenFailed(row, refusedAt(0)) === undefined) return;
  await state.write((tx) => {
    const now = tx.get(peerings, peeringId)?.row;
    const failing = now && streamOpenFailed(now, refusedAt(tx.now));
    if (failing !== undefined) tx.put(peerings, failing);
  });
}

/**
 * Records that the other side deleted the peering, and deletes its secrets ([PEER-69]). The state is final, so the
 * write does not compare the epoch.
 * @param peerId the ID that the stream was opened with, on the dialing side. The record may have another one by now.
 */
export async function recordTerminated(state: State, peeringId: string, peerId?: string): Promise<void> {
  await state.write((tx) => {
    const row = tx.get(peerings, peeringId)?.row;
    const terminated = row === undefined || row.peer?.id !== peerId ? undefined : terminatedByPeer(row);
    if (terminated === undefined) return;
    tx.put(peerings, terminated);
    tx.delete(acceptedSecrets, peeringId);
    tx.delete(links, peeringId);
  });
}
