/** Compares reads of the head with the followed position, to detect a store that went back. */
import { isStateError, StateError } from '../../../errors.ts';
import type { TableFormats } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind } from '../client/failures.ts';
import { readKey } from '../client/requests.ts';
import { checkRowFormats, decodePosition, type Position } from '../head-record.ts';
import { decodeUtf8, type Keys } from '../keys.ts';
import type { CommitTracker } from './commit-tracker.ts';

interface HeadReadOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly tracker: CommitTracker;
  /** The newest row formats that this version reads. */
  readonly formats: TableFormats;
}

/**
 * Reads the head with linearizable consistency. Reports a break if etcd was restored or replaced [ETCD-52], or if a newer
 * version writes rows that this one cannot read [ETCD-90].
 */
export async function readHead(
  { client, keys, tracker, formats }: HeadReadOptions,
  signal: AbortSignal,
): Promise<Position> {
  const begun = tracker.position();
  const { kv, header } = await readKey(client, keys.head, signal);
  const read = kv === undefined ? undefined : decodePosition(kv);
  if (begun !== undefined) {
    if (String(header.clusterId) !== begun.record.etcdCluster) tracker.break(clusterChanged(header.clusterId));
    tracker.compareHead(begun, read);
  }
  if (read === undefined)
    throw new StateError('unavailable', 'the head record is gone from etcd: was the prefix removed?');
  try {
    checkRowFormats(read.record, formats);
  } catch (cause) {
    if (!isStateError(cause)) throw cause;
    tracker.break(cause.message);
    throw new StateError('unavailable', cause.message, { cause });
  }
  return read;
}

/**
 * Checks that a watch from revision `from` continues the followed history [ETCD-49]. The store must have reached that
 * revision, and the head at the revision of the position must equal the position byte for byte.
 * @returns the reason why the watch cannot continue, or undefined
 */
export async function findHistoryMismatch(
  { client, keys, tracker }: Omit<HeadReadOptions, 'formats'>,
  from: bigint,
  signal: AbortSignal,
): Promise<string | undefined> {
  const position = tracker.position();
  if (position === undefined) return undefined;
  try {
    const { kv, header } = await readKey(client, keys.head, signal, position.modRevision);
    if (String(header.clusterId) !== position.record.etcdCluster) return clusterChanged(header.clusterId);
    if (header.revision < from - 1n) return `etcd went back from revision ${from - 1n} to ${header.revision}`;
    if (kv === undefined || decodeUtf8(kv.value) !== position.encoded)
      return `the head at revision ${position.modRevision} is a different one`;
    return undefined;
  } catch (error) {
    if (failureKind(error) === 'future')
      return `etcd is at a revision before ${position.modRevision}: it was restored from a snapshot`;
    // A compacted revision cannot be compared. If the watch needs it, etcd cancels the watch.
    if (failureKind(error) === 'compacted') return undefined;
    throw error;
  }
}

/** Returns the reason of a break for a response with another `cluster_id`. */
export function clusterChanged(clusterId: bigint): string {
  return `etcd now has another cluster ID (${clusterId}): it was restored from a snapshot`;
}
