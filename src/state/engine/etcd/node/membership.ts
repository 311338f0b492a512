/**
 * This server as a node of the cluster: its name, held by a lease.
 *
 * The lease counts as lost here before etcd lets it run out: at the time when the last keep-alive that was answered had
 * been sent, plus the TTL, less a margin, on this machine's monotonic clock. So a process that was frozen finds out by
 * itself that it must not act as the node any more. It then joins again, as a new incarnation with a new lease.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../clock/clock.ts';
import { withDeadline } from '../../../clock/deadline.ts';
import { isStateError, StateError } from '../../../errors.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind, stateErrorOf } from '../client/failures.ts';
import type { KeyValue } from '../client/gen/etcd_pb.ts';
import type { Log } from '../client/options.ts';
import { get, gotten, put, readKey, unchangedSince } from '../client/requests.ts';
import { type Keys, text } from '../keys.ts';
import { CLOSE_TIMEOUT_MS, JOIN_GRACE_MS, RETRY_MS_MAX } from '../limits.ts';
import { type NodeRecord, parseNode } from './live-nodes.ts';

/** A node's hold on its name. */
export interface NodeLease {
  readonly incarnation: string;
  /** etcd's id of the lease. */
  readonly lease: bigint;
}

export interface Membership {
  /** Joins, and keeps the lease from then on. @throws StateError `name-taken`, `unavailable` */
  start(signal: AbortSignal): Promise<void>;
  /** Undefined while the lease is lost. */
  live(): NodeLease | undefined;
  /** The incarnation that joined last, its lease lost or not; undefined before the first. */
  latest(): NodeLease | undefined;
  /** Leaves at once, if etcd answers soon; otherwise the lease runs out. */
  close(): Promise<void>;
}

export interface MembershipOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: () => string;
  readonly node: string;
  readonly formats: Readonly<Record<string, number>>;
  readonly leaseMs: number;
  /** The lease was lost, or won again. */
  readonly onChange: () => void;
  /** After each keep-alive that was answered. */
  readonly onBeat: (signal: AbortSignal) => void;
  readonly onFatal: (error: Error) => void;
}

/** A lease that is held until `lostAt` (monotonic) unless it is kept alive. */
interface Held extends NodeLease {
  readonly ttlMs: number;
  lostAt: number;
}

/** Part of the TTL by which a lease counts as lost early: etcd's clock and the way of the answer differ from ours. */
const MARGIN = 1 / 5;

/** Keep-alives in one TTL. */
const BEATS = 3;

export function createMembership(options: MembershipOptions): Membership {
  const { client, clock, log } = options;
  const closed = new AbortController();
  /** Every incarnation that this process tried to join as: a key that names one of them may be taken over. */
  const mine = new Set<string>();
  let held: Held | undefined;
  let running = Promise.resolve();
  let toldWaiting = false;

  const live = (): Held | undefined => (held !== undefined && clock.monotonic() < held.lostAt ? held : undefined);

  const joinAgain = async (signal: AbortSignal): Promise<void> => {
    try {
      held = await join(options, mine, signal);
      toldWaiting = false;
      log('info', 'joined the cluster', { node: options.node, incarnation: held.incarnation });
      options.onChange();
    } catch (error) {
      if (signal.aborted) return;
      if (isStateError(error, 'name-taken')) throw error;
      if (!toldWaiting) log('warn', 'cannot join the cluster, trying until it can', { error: String(error) });
      toldWaiting = true;
      await sleep(clock, RETRY_MS_MAX, signal);
    }
  };

  const lose = (): void => {
    if (held !== undefined) held.lostAt = Number.NEGATIVE_INFINITY;
    log('warn', 'the lease of this node is lost', { node: options.node });
    options.onChange();
  };

  const beat = async (lease: Held, signal: AbortSignal): Promise<void> => {
    const sentAt = clock.monotonic();
    const alive = await keepAlive(client, clock, lease, lease.lostAt - sentAt, signal);
    if (signal.aborted) return;
    if (alive) lease.lostAt = lostAt(sentAt, lease.ttlMs);
    // Not by the clock alone: a timer may end a hair before the time at which the lease counts as lost.
    if (!alive || live() === undefined) lose();
    else options.onBeat(signal);
  };

  const keep = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const lease = live();
      if (lease === undefined) {
        await joinAgain(signal);
      } else {
        await sleep(clock, lease.ttlMs / BEATS, signal);
        await beat(lease, signal);
      }
    }
  };

  return {
    live,
    latest: () => held,
    async start(signal) {
      try {
        held = await join(options, mine, signal);
      } catch (error) {
        // A full etcd grants no lease, but it can be read: this node joins when there is room again.
        if (!isStateError(error, 'full')) throw error;
        log('warn', 'etcd is full: not joined yet', { node: options.node });
      }
      running = keep(closed.signal).catch((error) => {
        if (!closed.signal.aborted) options.onFatal(error instanceof Error ? error : new Error(String(error)));
      });
    },
    async close() {
      closed.abort(new Error('the engine is closed'));
      await running;
      const lease = live();
      held = undefined;
      if (lease !== undefined) await revoke(client, lease);
    },
  };
}

/** Takes the name when it is free, waiting as long as a dead holder's lease can last. */
async function join(options: MembershipOptions, mine: Set<string>, signal: AbortSignal): Promise<Held> {
  const { client, clock, keys, node, leaseMs } = options;
  const until = clock.monotonic() + leaseMs + JOIN_GRACE_MS;
  for (;;) {
    // What counts is when it was asked: a process that stood still since then knows an old answer only.
    const askedAt = clock.monotonic();
    const { kv: holder } = await readKey(client, keys.node(node), signal).catch((error) => {
      throw stateErrorOf(error);
    });
    if (holder === undefined || mine.has(parseNode(text(holder.value)).incarnation)) {
      const held = await tryJoin(options, mine, holder?.modRevision ?? 0n, signal);
      if (held !== undefined) return held;
    } else if (askedAt >= until) {
      throw nameTaken(node, holder);
    } else {
      await sleep(clock, Math.min(leaseMs / 10, RETRY_MS_MAX), signal);
    }
  }
}

/** Undefined: somebody else was quicker, or the lease ran out meanwhile. */
async function tryJoin(
  options: MembershipOptions,
  mine: Set<string>,
  holderRevision: bigint,
  signal: AbortSignal,
): Promise<Held | undefined> {
  const { client, clock, keys, node, formats, leaseMs } = options;
  const sentAt = clock.monotonic();
  const incarnation = options.id();
  mine.add(incarnation);
  try {
    const request = { TTL: BigInt(Math.ceil(leaseMs / 1000)) };
    const grant = await client.retry((endpoint, call) => endpoint.lease.leaseGrant(request, call), signal);
    const record: NodeRecord = { incarnation, formats, since: new Date(clock.now()).toISOString() };
    const transaction = {
      compare: [unchangedSince(keys.node(node), holderRevision)],
      success: [put(keys.node(node), JSON.stringify(record), grant.ID), put(keys.writer(incarnation), '0')],
      failure: [get(keys.node(node))],
    };
    const answer = await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    const holder = answer.succeeded ? undefined : gotten(answer, 0);
    // A first try whose answer was lost may have made the key that stopped the second.
    const joined =
      answer.succeeded || (holder !== undefined && parseNode(text(holder.value)).incarnation === incarnation);
    if (!joined) return undefined;
    const ttlMs = Number(grant.TTL) * 1000;
    return { incarnation, lease: grant.ID, ttlMs, lostAt: lostAt(sentAt, ttlMs) };
  } catch (error) {
    if (failureKind(error) === 'lease-gone') return undefined;
    throw stateErrorOf(error);
  }
}

function lostAt(sentAt: number, ttlMs: number): number {
  return sentAt + ttlMs * (1 - MARGIN);
}

/** False when etcd does not know the lease any more, or did not answer within `ms`. */
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
        for await (const answer of endpoint.lease.leaseKeepAlive(once({ ID: lease }), options)) return answer.TTL;
        throw new ConnectError('etcd ended the keep-alive without an answer', Code.Unavailable);
      }, inner),
    );
    return ttl > 0n;
  } catch {
    return false;
  }
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

async function revoke(client: EtcdClient, { lease }: NodeLease): Promise<void> {
  const never = new AbortController().signal;
  try {
    await client.attempt((endpoint, call) => endpoint.lease.leaseRevoke({ ID: lease }, call), never, CLOSE_TIMEOUT_MS);
  } catch {
    // The lease runs out by itself.
  }
}

function nameTaken(node: string, holder: KeyValue): StateError {
  const { incarnation, since } = parseNode(text(holder.value));
  const message = `the node name "${node}" is held by another live server (incarnation ${incarnation}, since ${since}): give each server its own node.name`;
  return new StateError('name-taken', message);
}
