/**
 * This server's membership in the cluster: it holds its node name by a lease.
 *
 * On this machine's monotonic clock the lease counts as lost 80 % of its TTL after the last answered keep-alive was
 * sent, so before etcd expires it [ETCD-70]. A suspended process therefore finds out by itself that it is no longer
 * live. It then joins again with a new lease and a new incarnation [ETCD-72].
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../clock/clock.ts';
import { withDeadline } from '../../../clock/deadline.ts';
import { isStateError, StateError } from '../../../errors.ts';
import type { TableFormats } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind, toStateError } from '../client/failures.ts';
import type { KeyValue } from '../client/gen/etcd_pb.ts';
import type { Log } from '../client/options.ts';
import { get, modRevisionEquals, put, rangeResult, readKey, remove, valueEquals } from '../client/requests.ts';
import type { NodeLease, NodeLeases } from '../commit/commit.ts';
import { decodeUtf8, type Keys } from '../keys.ts';
import { CLOSE_TIMEOUT_MS, JOIN_GRACE_MS, RETRY_PAUSE_MS_MAX } from '../limits.ts';
import { type NodeRecord, parseNode } from './live-nodes.ts';

export interface Membership extends NodeLeases {
  /** Joins the cluster and then keeps the lease alive. @throws StateError `name-taken`, `unavailable` */
  start(signal: AbortSignal): Promise<void>;
  /** Leaves the cluster if etcd answers within 1 s; otherwise the lease and the formats expire [ETCD-76] [ETCD-89]. */
  close(): Promise<void>;
}

export interface MembershipOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: () => string;
  readonly node: string;
  readonly formats: TableFormats;
  readonly leaseMs: number;
  /** Called when the lease is lost, and when the node has joined again. */
  readonly onChange: () => void;
  readonly onKeepAlive: (signal: AbortSignal) => void;
  readonly onFatal: (error: Error) => void;
}

/** A lease that counts as lost from the monotonic time `lostAt`, which every keep-alive moves. */
interface HeldLease extends NodeLease {
  readonly ttlMs: number;
  /** The value of the keys of this node. */
  readonly record: string;
  lostAt: number;
}

/** Share of the TTL by which a lease counts as lost early, because etcd's clock can be faster than this machine's. */
const LEASE_MARGIN = 1 / 5;

const KEEP_ALIVES_PER_TTL = 3;

export function createMembership(options: MembershipOptions): Membership {
  const { client, clock, log } = options;
  const closed = new AbortController();
  /** Every incarnation with which this process tried to join. It may take over a key that names one [ETCD-69]. */
  const ownIncarnations = new Set<string>();
  let held: HeldLease | undefined;
  let running = Promise.resolve();
  let loggedFailure = false;

  const live = (): HeldLease | undefined => (held !== undefined && clock.monotonic() < held.lostAt ? held : undefined);

  const joinAgain = async (signal: AbortSignal): Promise<void> => {
    try {
      held = await join(options, ownIncarnations, signal);
      loggedFailure = false;
      log('info', 'joined the cluster', { node: options.node, incarnation: held.incarnation });
      options.onChange();
    } catch (error) {
      if (signal.aborted) return;
      if (isStateError(error, 'name-taken')) throw error;
      if (!loggedFailure) log('warn', 'joining the cluster failed', { error: String(error) });
      loggedFailure = true;
      await sleep(clock, RETRY_PAUSE_MS_MAX, signal);
    }
  };

  const loseLease = (): void => {
    if (held !== undefined) held.lostAt = Number.NEGATIVE_INFINITY;
    log('warn', 'lease lost', { node: options.node });
    options.onChange();
  };

  const renew = async (lease: HeldLease, signal: AbortSignal): Promise<void> => {
    const sentAt = clock.monotonic();
    const alive = await keepAlive(client, clock, lease, lease.lostAt - sentAt, signal);
    if (signal.aborted) return;
    if (alive) lease.lostAt = lostAt(sentAt, lease.ttlMs);
    // `live` alone does not suffice, because a timer may fire just before the lease counts as lost.
    if (!alive || live() === undefined) loseLease();
    else options.onKeepAlive(signal);
  };

  const keepLease = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const lease = live();
      if (lease === undefined) {
        await joinAgain(signal);
      } else {
        await sleep(clock, lease.ttlMs / KEEP_ALIVES_PER_TTL, signal);
        await renew(lease, signal);
      }
    }
  };

  return {
    live,
    latest: () => held,
    async start(signal) {
      try {
        held = await join(options, ownIncarnations, signal);
      } catch (error) {
        // A full etcd grants no lease but serves reads. This node joins when etcd has space [ETCD-74].
        if (!isStateError(error, 'full')) throw error;
        log('warn', 'joining the cluster postponed: etcd is full', { node: options.node });
      }
      running = keepLease(closed.signal).catch((error) => {
        if (!closed.signal.aborted) options.onFatal(error instanceof Error ? error : new Error(String(error)));
      });
    },
    async close() {
      closed.abort(new Error('the engine is closed'));
      await running;
      const lease = held;
      held = undefined;
      if (lease !== undefined) await leave(options, lease);
    },
  };
}

/** Joins when the name is free. Waits as long as the lease of a dead holder can last [ETCD-68]. */
async function join(options: MembershipOptions, ownIncarnations: Set<string>, signal: AbortSignal): Promise<HeldLease> {
  const { client, clock, keys, node, leaseMs } = options;
  const deadline = clock.monotonic() + leaseMs + JOIN_GRACE_MS;
  for (;;) {
    // The time of the request counts: the answer is old if the process was suspended after it.
    const askedAt = clock.monotonic();
    const { kv: holder } = await readKey(client, keys.node(node), signal).catch((error) => {
      throw toStateError(error);
    });
    if (holder === undefined || ownIncarnations.has(parseNode(decodeUtf8(holder.value)).incarnation)) {
      const held = await tryJoin(options, ownIncarnations, holder?.modRevision ?? 0n, signal);
      if (held !== undefined) return held;
    } else if (askedAt >= deadline) {
      throw nameTakenError(node, holder);
    } else {
      await sleep(clock, Math.min(leaseMs / 10, RETRY_PAUSE_MS_MAX), signal);
    }
  }
}

/** Tries once to join. Returns undefined if another server took the name first or the lease expired. */
async function tryJoin(
  options: MembershipOptions,
  ownIncarnations: Set<string>,
  holderRevision: bigint,
  signal: AbortSignal,
): Promise<HeldLease | undefined> {
  const { client, clock, keys, node, formats, leaseMs } = options;
  const sentAt = clock.monotonic();
  const incarnation = options.id();
  ownIncarnations.add(incarnation);
  try {
    const request = { TTL: BigInt(Math.ceil(leaseMs / 1000)) };
    const grant = await client.retry((endpoint, call) => endpoint.lease.leaseGrant(request, call), signal);
    const nodeRecord: NodeRecord = { incarnation, formats, since: new Date(clock.now()).toISOString() };
    const record = JSON.stringify(nodeRecord);
    const transaction = {
      compare: [modRevisionEquals(keys.node(node), holderRevision)],
      success: [
        put(keys.node(node), record, grant.ID),
        put(keys.nodeFormats(node), record),
        put(keys.writer(incarnation), '0'),
      ],
      failure: [get(keys.node(node))],
    };
    const answer = await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    const holder = answer.succeeded ? undefined : rangeResult(answer, 0);
    // The call may have been repeated after its first response was lost, and then finds the key it created itself.
    const joined =
      answer.succeeded || (holder !== undefined && parseNode(decodeUtf8(holder.value)).incarnation === incarnation);
    if (!joined) return undefined;
    const ttlMs = Number(grant.TTL) * 1000;
    return { incarnation, lease: grant.ID, ttlMs, record, lostAt: lostAt(sentAt, ttlMs) };
  } catch (error) {
    if (failureKind(error) === 'lease-gone') return undefined;
    throw toStateError(error);
  }
}

function lostAt(sentAt: number, ttlMs: number): number {
  return sentAt + ttlMs * (1 - LEASE_MARGIN);
}

/** Sends one keep-alive. Returns false if the lease does not exist or etcd did not answer within `ms`. */
async function keepAlive(
  client: EtcdClient,
  clock: Clock,
  { lease }: NodeLease,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (ms <= 0) return false;
  try {
    const ttl = await withDeadline(clock, ms, signal, (inner) =>
      client.retry(async (endpoint, call) => {
        const options = { ...call, headers: { ...call.headers, hasleader: 'true' } };
        const answered = Promise.withResolvers<void>();
        try {
          const requests = keepOpen({ ID: lease }, answered.promise);
          for await (const answer of endpoint.lease.leaseKeepAlive(requests, options)) return answer.TTL;
        } finally {
          answered.resolve();
        }
        throw new ConnectError('etcd ended the keep-alive without an answer', Code.Unavailable);
      }, inner),
    );
    return ttl > 0n;
  } catch {
    return false;
  }
}

/** Sends one request, and ends the stream after `end`, because etcd's grpc-proxy drops the answer of an ended one. */
async function* keepOpen<T>(request: T, end: Promise<void>): AsyncGenerator<T> {
  yield request;
  await end;
}

/** Removes this node's formats, unless another server has taken the name, and revokes the lease. */
async function leave({ client, keys, clock, node }: MembershipOptions, { lease, record }: HeldLease): Promise<void> {
  const never = new AbortController().signal;
  const formats = keys.nodeFormats(node);
  const transaction = { compare: [valueEquals(formats, record)], success: [remove(formats)] };
  const endsAt = clock.monotonic() + CLOSE_TIMEOUT_MS;
  try {
    await client.attempt((endpoint, call) => endpoint.kv.txn(transaction, call), never, CLOSE_TIMEOUT_MS);
    const leftMs = Math.max(1, endsAt - clock.monotonic());
    await client.attempt((endpoint, call) => endpoint.lease.leaseRevoke({ ID: lease }, call), never, leftMs);
  } catch {
    // The lease expires by itself, and housekeeping removes the formats.
  }
}

function nameTakenError(node: string, holder: KeyValue): StateError {
  const { incarnation, since } = parseNode(decodeUtf8(holder.value));
  const message = `the node name "${node}" is held by another live server (incarnation ${incarnation}, since ${since}): give each server its own node.name`;
  return new StateError('name-taken', message);
}
