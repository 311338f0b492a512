/**
 * The space in etcd's quota. etcd refuses every put, and so every commit, when its database file reaches the quota. Free
 * pages of the file are used first, so the room is the quota without the part in use [ETCD-88].
 */
import { Code, ConnectError } from '@connectrpc/connect';
import type { StoreSpace } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { REMOVAL_SHARE, RESERVE_SHARE } from '../limits.ts';

/** Sizes in bytes. */
export interface EtcdSize {
  readonly file: number;
  readonly inUse: number;
  readonly quota: number;
  readonly revision: bigint;
}

/**
 * Reads the size of the member in use. @returns undefined if etcd, or a proxy before it, does not tell
 * @param quotaBytes for an etcd that does not report its quota
 */
export async function readSize(
  client: EtcdClient,
  quotaBytes: number,
  signal: AbortSignal,
): Promise<EtcdSize | undefined> {
  try {
    const status = await client.attempt((endpoint, call) => endpoint.maintenance.status({}, call), signal);
    const quota = Number(status.dbSizeQuota) || quotaBytes;
    const file = Number(status.dbSize);
    return { file, inUse: Number(status.dbSizeInUse) || file, quota, revision: status.header?.revision ?? 0n };
  } catch (error) {
    if (error instanceof ConnectError && NOT_TOLD.has(error.code)) return undefined;
    throw error;
  }
}

const NOT_TOLD: ReadonlySet<Code> = new Set([Code.Unimplemented, Code.PermissionDenied]);

export function toStoreSpace({ inUse, quota }: EtcdSize): StoreSpace {
  const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
  return {
    freeBytes: quota - inUse,
    reserveBytes: quota * RESERVE_SHARE,
    removalBytes: quota * REMOVAL_SHARE,
    reason: `etcd uses ${mebibytes(inUse)} of ${mebibytes(quota)} MiB (its --quota-backend-bytes, and etcd.quota): remove rows, or raise both`,
  };
}
