/** The parts of an opened engine, put together for one node. */
import { sleep } from '../../../clock/clock.ts';
import { withDeadline } from '../../../clock/deadline.ts';
import type { CommitLimits, Engine, Follower, Head, Identity, ScanRange, StoredRow } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { stateErrorOf } from '../client/failures.ts';
import { RangeRequest_SortOrder } from '../client/gen/etcd_pb.ts';
import type { EtcdEngineOptions } from '../client/options.ts';
import { decodeKeyValue } from '../client/requests.ts';
import { type Committer, createCommitter } from '../commit/commit.ts';
import { createFollowing, type Following } from '../follow/follow.ts';
import { otherHistory, readHead } from '../follow/head-check.ts';
import { loadPinned, pin } from '../follow/load.ts';
import { type RunningWatch, startWatch } from '../follow/watch.ts';
import { headOf } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import { CALL_TIMEOUT_MS, HEAD_CHECK_MS, PAGE_TIMEOUT_MS, SAMPLE_MS } from '../limits.ts';
import { createHousekeeping } from './housekeeping.ts';
import { importRows } from './import.ts';
import { createLeasedView, type LeasedView } from './leased-keys.ts';
import { createMembership, type Membership } from './membership.ts';
import { createStatusPublisher, type StatusPublisher } from './status.ts';

export interface NodeParts {
  readonly options: EtcdEngineOptions;
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly identity: Identity;
  readonly follower: Follower;
  readonly limits: CommitLimits;
}

/** What an engine can do once it is open; as in the contract. */
export interface EtcdNode extends Pick<Engine, 'load' | 'head' | 'scan' | 'import'> {
  readonly membership: Membership;
  readonly committer: Committer;
  readonly status: StatusPublisher;
  housekeep(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export function createNode(parts: NodeParts): EtcdNode {
  const { options, client, keys, identity, follower, limits } = parts;
  const { clock, log } = options;
  let watch: RunningWatch | undefined;
  let cancelNudge: (() => void) | undefined;

  const view: LeasedView = createLeasedView(identity.node, () => membership.live()?.incarnation, follower, clock);
  const following: Following = createFollowing(keys, follower, view.observe, () => watch?.stop());
  const head = async (signal: AbortSignal): Promise<Head> => {
    const { record, modRevision } = await orStateError(() => readHead({ client, keys, following }, signal));
    onBehind(modRevision);
    return headOf(record);
  };

  /** The watch has a moment to deliver what is known to exist; then it counts as broken and starts again. */
  const onBehind = (modRevision: bigint): void => {
    const behind = (): boolean => (following.position()?.modRevision ?? modRevision) < modRevision;
    if (!behind()) return;
    cancelNudge ??= clock.after(CALL_TIMEOUT_MS, () => {
      cancelNudge = undefined;
      if (behind()) watch?.nudge();
    });
  };

  /** A head that went back, or a watch that is silent, is noticed even when nobody reads or writes. */
  const checkHead = (signal: AbortSignal): void => {
    withDeadline(clock, HEAD_CHECK_MS, signal, head).catch(() => {});
  };

  const membership: Membership = createMembership({
    client,
    keys,
    clock,
    log,
    id: options.id,
    node: identity.node,
    formats: identity.formats,
    leaseMs: options.leaseMs,
    onChange() {
      if (membership.live() !== undefined) status.putAgain();
      view.presence.refresh();
    },
    onBeat: checkHead,
    onFatal: (error) => follower.onFatal(error),
  });
  const status = createStatusPublisher({ client, keys, clock, log, node: identity.node, live: membership.live });
  const committer = createCommitter({
    client,
    clock,
    keys,
    log,
    node: identity.node,
    membership,
    following,
    turns: view.turns,
    endpoints: options.endpoints.length,
    onBehind,
  });
  const housekeepOnce = createHousekeeping({ client, keys, clock, compactMs: options.compactMs });

  const orStateError = async <T>(action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      throw stateErrorOf(error);
    }
  };

  const follow = (from: bigint): RunningWatch =>
    startWatch(
      {
        client,
        clock,
        log,
        range: keys.all,
        onRevision: (revision) => following.apply(revision),
        verify: (next, signal) => otherHistory({ client, keys, following }, next, signal),
        onLost: (reason, diverged) => following.break(reason, diverged),
        onFatal: (error) => follower.onFatal(error),
      },
      from,
    );

  return {
    membership,
    committer,
    status,
    head,
    async load(page, restart, floor, signal) {
      watch?.stop();
      for (;;) {
        const pinned = await orStateError(() => pin(client, keys, floor, following.diverged(), options.id, signal));
        const leased = await orStateError(() => loadPinned(client, keys, pinned, page, signal));
        if (leased === undefined) {
          restart();
          continue;
        }
        following.begin(pinned.position);
        view.reset(leased);
        watch = follow(pinned.revision + 1n);
        return headOf(pinned.position.record);
      }
    },
    scan: (table, range, signal) => orStateError(() => scan(parts, following, table, range, signal)),
    import: (to, pages, signal) => importRows({ client, keys, generation: options.id(), ...limits }, to, pages, signal),
    async housekeep(signal) {
      while (!signal.aborted) {
        await housekeepOnce(signal).catch((error) => {
          if (!signal.aborted) log('warn', 'housekeeping in etcd failed', { error: String(error) });
        });
        await sleep(clock, SAMPLE_MS, signal).catch(() => {});
      }
    },
    async close() {
      cancelNudge?.();
      watch?.stop();
      await status.close();
      await membership.close();
    },
  };
}

async function scan(
  { client, keys }: NodeParts,
  following: Following,
  table: string,
  { from, to, limit, reverse = false }: ScanRange,
  signal: AbortSignal,
): Promise<readonly StoredRow[]> {
  const { record } = following.held() ?? (await readHead({ client, keys, following }, signal));
  const request = {
    ...keys.table(record.generation, table, from, to),
    limit: BigInt(limit),
    sortOrder: reverse ? RangeRequest_SortOrder.DESCEND : RangeRequest_SortOrder.NONE,
  };
  const answer = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal, PAGE_TIMEOUT_MS);
  const readRow = keys.rowReader(record.generation);
  return answer.kvs.map(decodeKeyValue).map((kv) => readRow(kv.key, kv.value));
}
