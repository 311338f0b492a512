import { StateError } from '../../errors.ts';
import type { Head, TableFormats } from '../engine.ts';
import { decodeUtf8 } from './keys.ts';
import { LAYOUT_FORMAT_WITH_ROW_FORMATS } from './limits.ts';

/** The value of the head key. */
export interface HeadRecord extends Head {
  /** Version of the layout. */
  readonly format: number;
  readonly generation: string;
  /** etcd's own `cluster_id` when the epoch began. Another one means that etcd was restored from a snapshot. */
  readonly etcdCluster: string;
  /** Incarnation and batch that made this head. Two histories can share an index but never this value [ETCD-19]. */
  readonly by: string;
  /** The newest row formats that the store may contain, by table. Missing tables have format 1 [ETCD-90]. */
  readonly formats?: TableFormats;
}

/** The head key at one revision. It guards a commit, and the watch continues from it. */
export interface Position {
  readonly record: HeadRecord;
  /** The value of the head key, byte for byte. */
  readonly encoded: string;
  readonly modRevision: bigint;
}

export function encodeHead(record: HeadRecord): string {
  const { format, cluster, epoch, index, generation, etcdCluster, by, formats } = record;
  return JSON.stringify({ format, cluster, epoch, index, generation, etcdCluster, by, formats });
}

/** Returns the record of a store that may contain rows in `formats`, besides those that it has. */
export function withRowFormats(record: HeadRecord, formats: TableFormats): HeadRecord {
  const raised = Object.entries(formats).filter(([table, format]) => format > (record.formats?.[table] ?? 1));
  if (raised.length === 0) return record;
  const next = { ...record.formats, ...Object.fromEntries(raised) };
  return { ...record, format: LAYOUT_FORMAT_WITH_ROW_FORMATS, formats: next };
}

/**
 * Checks that this version reads all rows of the store. A server that was suspended while the others were upgraded finds
 * out here [ETCD-90].
 * @param readable the newest formats that this version reads. The rows of other tables stay unread.
 * @throws StateError `corrupt` if a newer version wrote rows
 */
export function checkRowFormats({ formats = {} }: HeadRecord, readable: TableFormats): void {
  for (const [table, format] of Object.entries(formats)) {
    const newest = readable[table] ?? format;
    if (format <= newest) continue;
    const message = `the store has rows of table '${table}' in format ${format}, but this version reads up to ${newest}: a newer version of Accord wrote them; upgrade this server to that version or a later one`;
    throw new StateError('corrupt', message);
  }
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
  if (typeof record?.format === 'number' && record.format > LAYOUT_FORMAT_WITH_ROW_FORMATS) {
    const message = `the state in etcd has format ${record.format}; this program reads up to ${LAYOUT_FORMAT_WITH_ROW_FORMATS}: use a newer one`;
    throw new StateError('corrupt', message);
  }
  if (record === null || !isHead(record)) throw unreadableHead(value, undefined);
  return record;
}

function isHead(record: Partial<HeadRecord>): record is HeadRecord {
  const { format, cluster, epoch, index, generation, etcdCluster, by, formats = {} } = record;
  if (typeof formats !== 'object' || formats === null) return false;
  const counters = [format, epoch, index, ...Object.values(formats)].every((value) => Number.isSafeInteger(value));
  return counters && [cluster, generation, etcdCluster, by].every((value) => typeof value === 'string');
}

function unreadableHead(value: string, cause: unknown): StateError {
  return new StateError('corrupt', `the head record in etcd cannot be read: ${value.slice(0, 200)}`, { cause });
}
