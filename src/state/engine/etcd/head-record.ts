import { StateError } from '../../errors.ts';
import type { Head } from '../engine.ts';
import { decodeUtf8 } from './keys.ts';
import { LAYOUT_FORMAT } from './limits.ts';

/** The value of the head key. */
export interface HeadRecord extends Head {
  /** Version of the layout. */
  readonly format: number;
  readonly generation: string;
  /** etcd's own `cluster_id` when the epoch began. Another one means that etcd was restored from a snapshot. */
  readonly etcdCluster: string;
  /** Incarnation and batch that made this head. Two histories can share an index but never this value [ETCD-19]. */
  readonly by: string;
}

/** The head key at one revision. It guards a commit, and the watch continues from it. */
export interface Position {
  readonly record: HeadRecord;
  /** The value of the head key, byte for byte. */
  readonly encoded: string;
  readonly modRevision: bigint;
}

export function encodeHead(record: HeadRecord): string {
  const { format, cluster, epoch, index, generation, etcdCluster, by } = record;
  return JSON.stringify({ format, cluster, epoch, index, generation, etcdCluster, by });
}

/** @throws StateError `corrupt` if the value is not a head record or has a newer format [ETCD-20] */
export function decodePosition(kv: { readonly value: Uint8Array; readonly modRevision: bigint }): Position {
  const value = decodeUtf8(kv.value);
  return { record: decodeHead(value), encoded: value, modRevision: kv.modRevision };
}

export function toHead({ cluster, epoch, index }: HeadRecord): Head {
  return { cluster, epoch, index };
}

function decodeHead(value: string): HeadRecord {
  let record: Partial<HeadRecord> | null;
  try {
    record = JSON.parse(value);
  } catch (error) {
    throw unreadableHead(value, error);
  }
  if (typeof record?.format === 'number' && record.format > LAYOUT_FORMAT) {
    const message = `the state in etcd has format ${record.format}; this program reads up to ${LAYOUT_FORMAT}: use a newer one`;
    throw new StateError('corrupt', message);
  }
  if (record === null || !isHead(record)) throw unreadableHead(value, undefined);
  return record;
}

function isHead(record: Partial<HeadRecord>): record is HeadRecord {
  const { format, cluster, epoch, index, generation, etcdCluster, by } = record;
  const counters = [format, epoch, index].every((value) => Number.isSafeInteger(value));
  return counters && [cluster, generation, etcdCluster, by].every((value) => typeof value === 'string');
}

function unreadableHead(value: string, cause: unknown): StateError {
  return new StateError('corrupt', `the head record in etcd cannot be read: ${value.slice(0, 200)}`, { cause });
}
