/** Assembles the parts of an opened engine. */
import { sleep } from '../../../clock/clock.ts';
import { withDeadline } from '../../../clock/deadline.ts';
import type {
  CommitLimits,
  Engine,
  Follower,
  Head,
  NodeIdentity,
  ScanRange,
  StoredRow,
  StoreSpace,
} from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { toStateError } from '../client/failures.ts';
import { RangeRequest_SortOrder } from '../client/gen/etcd_pb.ts';
import type { EtcdEngineOptions } from '../client/options.ts';
import { decodeKeyValue } from '../client/requests.ts';
import { type Committer, createCommitter } from '../commit/commit.ts';
import { type CommitTracker, createCommitTracker } from '../follow/commit-tracker.ts';
import { findHistoryMismatch, readHead } from '../follow/head-check.ts';
import { loadAtRevision, pinRevision } from '../follow/load.ts';
import { type RunningWatch, startWatch } from '../follow/watch.ts';
import { toHead } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import {
  CALL_TIMEOUT_MS,
  HEAD_CHECK_TIMEOUT_MS,
  HOUSEKEEPING_INTERVAL_MS,
  PAGE_TIMEOUT_MS,
  SIZE_CHECK_INTERVAL_MS,
} from '../limits.ts';
import { createHousekeeping } from './housekeeping.ts';
import { importRows } from './import.ts';
import { createMembership, type Membership } from './membership.ts';
import { createNodeKeysView, type NodeKeysView } from './node-keys.ts';
import { createSizeCompaction } from './size-compaction.ts';
import { readSize, toStoreSpace } from './space.ts';
import { createStatusPublisher, type StatusPublisher } from './status.ts';

export interface NodeOptions {
  readonly options: EtcdEngineOptions;
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly identity: NodeIdentity;
  readonly follower: Follower;
  readonly limits: CommitLimits;
}

/** An opened engine. The methods of `Engine` fulfill its contract. */
export interface EtcdNode extends Pick<Engine, 'load' | 'head' | 'scan' | 'import'> {
  readonly membership: Membership;
  readonly committer: Committer;
  readonly status: StatusPublisher;
  reserve(released: AbortSignal): void;
  space(signal: AbortSignal): Promise<StoreSpace | undefined>;
  housekeep(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export function createNode(nodeOptions: NodeOptions): EtcdNode {
  const { options, client, keys, identity, follower, limits } = nodeOptions;
  const { clock, log } = options;
  const { formats } = identity;
  const closed = new AbortController();
  let watch: RunningWatch | undefined;
  let cancelRestart: (() => void) | undefined;

  const view: NodeKeysView = createNodeKeysView(identity, () => membership.live()?.incarnation, follower, clock);
  const tracker: CommitTracker = createCommitTracker({
    keys,
    follower,
    formats,
    onNodeKey: view.observe,
    onHead: (record) => view.liveNodes.setStoredFormats(record.formats),
    stop: () => watch?.stop(),
  });
  const head = async (signal: AbortSignal): Promise<Head> => {
    const { record, modRevision } = await withStateErrors(() => readHead({ client, keys, tracker, formats }, signal));
    onBehind(modRevision);
    return toHead(record);
  };

  /** Gives the watch 2 s to deliver the head at `modRevision`, and then restarts it [ETCD-53]. */
  const onBehind = (modRevision: bigint): void => {
    const isBehind = (): boolean => (tracker.position()?.modRevision ?? modRevision) < modRevision;
    if (!isBehind()) return;
    cancelRestart ??= clock.after(CALL_TIMEOUT_MS, () => {
      cancelRestart = undefined;
      if (isBehind()) watch?.restartIfSilent();
    });
  };

  /** Reads the head after each keep-alive, so that a restored store is detected even without requests [ETCD-54]. */
  const checkHead = (signal: AbortSignal): void => {
    withDeadline(clock, HEAD_CHECK_TIMEOUT_MS, signal, head).catch(() => {});
  };

  const membership: Membership = createMembership({
    client,
    keys,
    clock,
    log,
    id: options.id,
    node: identity.node,
    formats,
    leaseMs: options.leaseMs,
    onChange() {
      if (membership.live() !== undefined) status.putAllAgain();
      view.liveNodes.refresh();
    },
    onKeepAlive: checkHead,
    onFatal: (error) => follower.onFatal(error),
  });
  const status = createStatusPublisher({ client, keys, clock, log, node: identity.node, live: membership.live });
  const committer = createCommitter({
    client,
    clock,
    keys,
    log,
    node: identity.node,
    leases: membership,
    tracker,
    fairness: view.fairness,
    endpointCount: options.endpoints.length,
    onBehind,
  });
  const housekeepOnce = createHousekeeping({ client, keys, clock, log, compactMs: options.compactMs });

  const withStateErrors = async <T>(action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      throw toStateError(error);
    }
  };

  const startFollowing = (from: bigint): RunningWatch =>
    startWatch(
      {
        client,
        clock,
        log,
        range: keys.all,
        onRevision: (revision) => tracker.apply(revision),
        findMismatch: (next, signal) => findHistoryMismatch({ client, keys, tracker }, next, signal),
        onLost: (reason, diverged) => tracker.break(reason, diverged),
        onFatal: (error) => follower.onFatal(error),
      },
      from,
    );

  return {
    membership,
    committer,
    status,
    head,
    reserve: (released) => committer.reserve(released, closed.signal),
    async load(page, restart, floor, signal) {
      watch?.stop();
      for (;;) {
        const pinned = await withStateErrors(() =>
          pinRevision(client, keys, formats, floor, tracker.hasDiverged(), options.id, signal),
        );
        const nodeKeys = await withStateErrors(() => loadAtRevision(client, keys, pinned, page, signal));
        if (nodeKeys === undefined) {
          restart();
          continue;
        }
        tracker.start(pinned.position);
        view.reset(nodeKeys);
        watch = startFollowing(pinned.revision + 1n);
        return toHead(pinned.position.record);
      }
    },
    scan: (table, range, signal) => withStateErrors(() => scan(nodeOptions, tracker, table, range, signal)),
    import: (to, pages, signal) =>
      importRows({ client, keys, generation: options.id(), formats, ...limits }, to, pages, signal),
    space: (signal) =>
      withStateErrors(async () => {
        const size = await readSize(client, options.quotaBytes, signal);
        return size && toStoreSpace(size);
      }),
    async housekeep(signal) {
      const repeat = async (task: (signal: AbortSignal) => Promise<void>, intervalMs: number): Promise<void> => {
        while (!signal.aborted) {
          await task(signal).catch((error) => {
            if (!signal.aborted) log('warn', 'housekeeping failed', { error: String(error) });
          });
          await sleep(clock, intervalMs, signal).catch(() => {});
        }
      };
      await Promise.all([
        repeat(housekeepOnce, HOUSEKEEPING_INTERVAL_MS),
        repeat(createSizeCompaction({ client, ...options }), SIZE_CHECK_INTERVAL_MS),
      ]);
    },
    async close() {
      closed.abort(new Error('the engine is closed'));
      cancelRestart?.();
      watch?.stop();
      await status.close();
      await membership.close();
    },
  };
}

async function scan(
  { client, keys, identity: { formats } }: NodeOptions,
  tracker: CommitTracker,
  table: string,
  { from, to, limit, reverse = false }: ScanRange,
  signal: AbortSignal,
): Promise<readonly StoredRow[]> {
  const { record } = tracker.lastPosition() ?? (await readHead({ client, keys, tracker, formats }, signal));
  const request = {
    ...keys.tableRange(record.generation, table, from, to),
    limit: BigInt(limit),
    sortOrder: reverse ? RangeRequest_SortOrder.DESCEND : RangeRequest_SortOrder.NONE,
  };
  const answer = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal, PAGE_TIMEOUT_MS);
  const readRow = keys.rowDecoder(record.generation);
  return answer.kvs.map(decodeKeyValue).map((kv) => readRow(kv.key, kv.value));
}
