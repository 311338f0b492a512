import { StateError } from '../../errors.ts';
import type { Head } from '../engine.ts';
import { text } from './keys.ts';
import { LAYOUT_FORMAT } from './limits.ts';

/** The value of the head key. */
export interface HeadRecord extends Head {
  /** Version of the layout. */
  readonly format: number;
  /** Under which generation the rows lie. */
  readonly generation: string;
  /** etcd's own cluster_id when the epoch began: another one means that etcd was restored from a snapshot. */
  readonly etcdCluster: string;
  /** Which commit made it, as incarnation and batch: two histories can share an index, never this. */
  readonly by: string;
}

/** The head at one moment: what a commit is guarded by and a watch goes on from. */
export interface Position {
  readonly record: HeadRecord;
  /** The head key's value, to the byte. */
  readonly text: string;
  readonly modRevision: bigint;
}

export function encodeHead(record: HeadRecord): string {
  const { format, cluster, epoch, index, generation, etcdCluster, by } = record;
  return JSON.stringify({ format, cluster, epoch, index, generation, etcdCluster, by });
}

/** @throws StateError `corrupt` when it is not a head, or a newer program's */
export function readPosition(kv: { readonly value: Uint8Array; readonly modRevision: bigint }): Position {
  const value = text(kv.value);
  return { record: decodeHead(value), text: value, modRevision: kv.modRevision };
}

/** Only what the contract promises of a head. */
export function headOf({ cluster, epoch, index }: HeadRecord): Head {
  return { cluster, epoch, index };
}

function decodeHead(value: string): HeadRecord {
  let record: Partial<HeadRecord> | null;
  try {
    record = JSON.parse(value);
  } catch (error) {
    throw notAHead(value, error);
  }
  if (typeof record?.format === 'number' && record.format > LAYOUT_FORMAT) {
    const message = `the state in etcd has format ${record.format}; this program reads up to ${LAYOUT_FORMAT}: use a newer one`;
    throw new StateError('corrupt', message);
  }
  if (record === null || !isHead(record)) throw notAHead(value, undefined);
  return record;
}

function isHead(record: Partial<HeadRecord>): record is HeadRecord {
  const { format, cluster, epoch, index, generation, etcdCluster, by } = record;
  const counters = [format, epoch, index].every((value) => Number.isSafeInteger(value));
  return counters && [cluster, generation, etcdCluster, by].every((value) => typeof value === 'string');
}

function notAHead(value: string, cause: unknown): StateError {
  return new StateError('corrupt', `the head record in etcd cannot be read: ${value.slice(0, 200)}`, { cause });
}
