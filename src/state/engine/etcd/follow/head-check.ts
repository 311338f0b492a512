/** Reads of the head, compared with what was followed: how a store that went back is noticed. */
import { StateError } from '../../../errors.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind } from '../client/failures.ts';
import { readKey } from '../client/requests.ts';
import { type Position, readPosition } from '../head-record.ts';
import { type Keys, text } from '../keys.ts';
import type { Following } from './follow.ts';

interface Parts {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly following: Following;
}

/** A linearizable read of the head. A head that went back, or another etcd, ends the following. */
export async function readHead({ client, keys, following }: Parts, signal: AbortSignal): Promise<Position> {
  const begun = following.position();
  const { kv, header } = await readKey(client, keys.head, signal);
  const read = kv === undefined ? undefined : readPosition(kv);
  if (begun !== undefined) {
    if (String(header.clusterId) !== begun.record.etcdCluster) following.break(otherCluster(header.clusterId));
    following.compare(begun, read);
  }
  if (read === undefined)
    throw new StateError('unavailable', 'the head record is gone from etcd: was the prefix removed?');
  return read;
}

/**
 * Whether a watch that starts at revision `from` continues what was followed: the store must have come as far, and
 * the head at the revision of the position must be the one that is held, to the byte.
 * @returns why not
 */
export async function otherHistory(
  { client, keys, following }: Parts,
  from: bigint,
  signal: AbortSignal,
): Promise<string | undefined> {
  const position = following.position();
  if (position === undefined) return undefined;
  try {
    const { kv, header } = await readKey(client, keys.head, signal, position.modRevision);
    if (String(header.clusterId) !== position.record.etcdCluster) return otherCluster(header.clusterId);
    if (header.revision < from - 1n) return `etcd went back from revision ${from - 1n} to ${header.revision}`;
    if (kv === undefined || text(kv.value) !== position.text)
      return `the head at revision ${position.modRevision} is another one`;
    return undefined;
  } catch (error) {
    if (failureKind(error) === 'future') return `etcd went back behind revision ${position.modRevision}`;
    // What is compacted cannot be compared: the watch itself tells whether it can go on.
    if (failureKind(error) === 'compacted') return undefined;
    throw error;
  }
}

export function otherCluster(clusterId: bigint): string {
  return `etcd is another cluster now (${clusterId}): it was restored from a snapshot`;
}
