/**
 * Compaction by size: when much of the quota is in use, history is compacted before it is as old as `etcd.compact`, so
 * that a fast writer cannot fill the quota with history [ETCD-88].
 */
import type { Clock } from '../../../clock/clock.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind } from '../client/failures.ts';
import type { Log } from '../client/options.ts';
import { COMPACT_GROWTH_SHARE, COMPACT_SHARE, DEFRAGMENT_SHARE, HISTORY_KEPT_MS } from '../limits.ts';
import { type EtcdSize, readSize } from './space.ts';

export interface SizeCompactionOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly compactMs: number | 'off';
  readonly quotaBytes: number;
}

/** Creates the check. Call it regularly; it keeps its records between runs. */
export function createSizeCompaction(options: SizeCompactionOptions): (signal: AbortSignal) => Promise<void> {
  const { client, clock, log, compactMs, quotaBytes } = options;
  let samples: { readonly revision: bigint; readonly at: number }[] = [];
  let isReported = false;
  /** The smallest size since the last compaction. Without one, all that is in use may be history. */
  let lowestInUse = 0;

  /** Logs once that the file has reached most of the quota although much of it is free, until that ends. */
  function reportFile({ file, inUse, quota }: EtcdSize): void {
    const isFragmented = file > quota * DEFRAGMENT_SHARE && inUse < file * COMPACT_SHARE;
    if (isFragmented && !isReported) {
      const remedy = 'run etcdctl defrag on each member, one after another';
      log('warn', 'etcd needs defragmentation', { fileBytes: file, inUseBytes: inUse, quotaBytes: quota, remedy });
    }
    isReported = isFragmented;
  }

  return async (signal) => {
    const size = await readSize(client, quotaBytes, signal);
    if (size === undefined) return;
    reportFile(size);
    if (compactMs === 'off') return;
    const now = clock.monotonic();
    samples.push({ revision: size.revision, at: now });
    const target = samples.findLast(({ at }) => now - at >= Math.min(HISTORY_KEPT_MS, compactMs));
    if (target === undefined) return;
    samples = samples.filter(({ at }) => at >= target.at);
    lowestInUse = Math.min(lowestInUse, size.inUse);
    const grewBytes = size.inUse - lowestInUse;
    if (size.inUse < size.quota * COMPACT_SHARE || grewBytes < size.quota * COMPACT_GROWTH_SHARE) return;
    try {
      await client.retry((endpoint, call) => endpoint.kv.compact({ revision: target.revision }, call), signal);
    } catch (error) {
      const kind = failureKind(error);
      // Housekeeping reports that etcd rejects compactions.
      if (kind === 'rejected') return;
      // Nothing was written since the last compaction, or another node has compacted a later revision.
      if (kind !== 'compacted') throw error;
    }
    // etcd frees the pages in the background, and the next checks find what is left.
    lowestInUse = size.inUse;
    log('info', 'etcd compacted early', { inUseBytes: size.inUse, quotaBytes: size.quota });
  };
}
