/**
 * Makes commits, one at a time, and returns only when the outcome is known.
 *
 * An ambiguous failure leaves open whether etcd applied the transaction. The committer then sends the identical
 * transaction again, until a response or the watch shows that the commit succeeded or never can [ETCD-30] [ETCD-31].
 *
 * A definite rejection ends a commit only if no earlier sending was ambiguous, because it describes the last sending
 * only [ETCD-34]. After `database space exceeded` the committer always looks the outcome up [ETCD-35].
 */
import { type Clock, sleep } from '../../../clock/clock.ts';
import { StateError } from '../../../errors.ts';
import type { Commit } from '../../engine.ts';
import { type EtcdClient, retryPauseMs } from '../client/client.ts';
import { failureKind, noSpaceError, toStateError } from '../client/failures.ts';
import type { TxnResponse } from '../client/gen/etcd_pb.ts';
import type { Log } from '../client/options.ts';
import { headerOf, put, rangeResult, remove } from '../client/requests.ts';
import type { CommitTracker, OwnCommit } from '../follow/commit-tracker.ts';
import { clusterChanged } from '../follow/head-check.ts';
import { decodePosition, type Position } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import type { CommitFairness } from './commit-fairness.ts';
import {
  buildRowOperations,
  buildTransaction,
  type GuardedTransaction,
  lookUpTransaction,
  nextHead,
  type Outcome,
  readOutcome,
} from './transaction.ts';

/** The end of the value of a ticket that reserves the turn [ETCD-92]. */
export const RESERVES = '/reserves';

/** The lease that holds this node's name. */
export interface NodeLease {
  readonly incarnation: string;
  /** etcd's ID of the lease. */
  readonly lease: bigint;
}

export interface NodeLeases {
  /** Returns the current lease, undefined while it is lost. */
  live(): NodeLease | undefined;
  /** Returns the lease of the latest incarnation, also after it was lost; undefined before the node joined. */
  latest(): NodeLease | undefined;
}

export interface CommitterOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly keys: Keys;
  readonly node: string;
  readonly leases: NodeLeases;
  readonly tracker: CommitTracker;
  readonly fairness: CommitFairness;
  readonly endpointCount: number;
  readonly log: Log;
  /** Called when a response shows a head that the watch has not delivered yet. */
  readonly onBehind: (modRevision: bigint) => void;
}

export interface Committer {
  commit(commit: Commit, signal: AbortSignal): Promise<'committed' | 'conflict'>;
  /** Puts a ticket that makes the other nodes wait, until this node's next commit or `released` aborts [ETCD-92]. */
  reserve(released: AbortSignal, signal: AbortSignal): void;
}

export function createCommitter(options: CommitterOptions): Committer {
  const { tracker, fairness, leases, keys, node, client } = options;
  let batches = 0;
  /** Whether a ticket of this node may exist in etcd. */
  let mayHaveTicket = false;
  let ticketPut: Promise<void> | undefined;
  let reservation: AbortSignal | undefined;

  /** Returns the head that guards the commit, or undefined if the head has already moved [ETCD-29]. */
  const findBase = ({ epoch, base }: Commit): Position | undefined => {
    const position = tracker.lastPosition();
    return position?.record.epoch === epoch && position.record.index === base ? position : undefined;
  };

  /** Puts a ticket before it waits, because a node that only waits would never get its turn [ETCD-39]. */
  const waitForOlderTickets = async (signal: AbortSignal): Promise<void> => {
    if (!fairness.mustWait()) return;
    if (!mayHaveTicket) ticketPut = putTicket(signal);
    await fairness.wait(signal);
  };

  const putTicket = async (signal: AbortSignal, suffix = ''): Promise<void> => {
    const lease = leases.live();
    if (lease === undefined) return;
    mayHaveTicket = true;
    const ticket = put(keys.ticket(node), lease.incarnation + suffix, lease.lease);
    // A failure is ignored, because the missing ticket only delays the commit.
    await client.attempt((endpoint, call) => endpoint.kv.txn({ success: [ticket] }, call), signal).catch(() => {});
  };

  const removeTicket = async (signal: AbortSignal): Promise<void> => {
    await ticketPut;
    if (!mayHaveTicket) return;
    const success = [remove(keys.ticket(node))];
    await client.attempt((endpoint, call) => endpoint.kv.txn({ success }, call), signal).catch(() => {});
  };

  return {
    reserve(released, signal) {
      ticketPut = putTicket(signal, RESERVES);
      if (reservation === released) return;
      reservation = released;
      released.addEventListener('abort', () => void removeTicket(signal), { once: true });
    },
    async commit(commit, signal) {
      const expected = findBase(commit);
      if (expected === undefined) return 'conflict';
      const rows = await buildRowOperations(keys, expected.record.generation, commit.operations);
      await waitForOlderTickets(signal);
      // A ticket that arrived after the commit that removes it would stay in etcd.
      if (findBase(commit) !== undefined) await ticketPut;
      const base = findBase(commit);
      if (base === undefined) return 'conflict';
      const latest = leases.latest();
      if (latest === undefined) throw new StateError('unavailable', 'this node has not joined the cluster in etcd yet');
      batches += 1;
      const batch = String(batches);
      const { incarnation } = latest;
      const { operations, formats = {} } = commit;
      const own = { incarnation, batch, operations, ...nextHead(base, incarnation, batch, formats) };
      const transaction = buildTransaction(keys, base, own, rows, node, leases.live()?.lease, mayHaveTicket);
      const outcome = await commitUntilKnown(options, base, own, transaction, signal);
      mayHaveTicket = outcome === 'conflict' && transaction.request !== transaction.withoutTicket;
      return outcome;
    },
  };
}

/** Sends the transaction until a response or the watch shows the outcome, and makes sure the commit is delivered. */
async function commitUntilKnown(
  options: CommitterOptions,
  base: Position,
  commit: Omit<OwnCommit, 'onSeen'>,
  transaction: GuardedTransaction,
  signal: AbortSignal,
): Promise<'committed' | 'conflict'> {
  const { tracker } = options;
  const seen = Promise.withResolvers<Outcome>();
  const own: OwnCommit = { ...commit, onSeen: (revision) => seen.resolve({ kind: 'made', revision }) };
  const state: SendState = { base, own, transaction, request: transaction.request, ambiguous: false, known: false };
  tracker.expectOwn(own);
  try {
    const outcome = await Promise.race([seen.promise, sendUntilKnown(options, state, signal)]);
    if (outcome.kind === 'conflict') return 'conflict';
    if (outcome.kind === 'made') {
      tracker.ownCommitted(own, outcome.revision);
      return 'committed';
    }
    tracker.break('the outcome of a commit cannot be found: its writer key is missing in etcd');
    throw new StateError('outcome-unknown', 'etcd no longer shows whether the write was committed');
  } finally {
    state.known = true;
    tracker.expectOwn(undefined);
  }
}

interface SendState {
  readonly base: Position;
  readonly own: OwnCommit;
  readonly transaction: GuardedTransaction;
  request: GuardedTransaction['request'];
  /** Whether a sending failed and may have been applied. */
  ambiguous: boolean;
  /** Whether the outcome is known, so that nothing is sent again. */
  known: boolean;
}

async function sendUntilKnown(options: CommitterOptions, state: SendState, signal: AbortSignal): Promise<Outcome> {
  const { client, clock, endpointCount } = options;
  for (let failures = 0; !state.known; failures += 1) {
    try {
      if (failures > 0) await sleep(clock, retryPauseMs(failures, endpointCount), signal);
      const response = await client.attempt((endpoint, call) => endpoint.kv.txn(state.request, call), signal);
      return readResponse(options, state, response);
    } catch (error) {
      if (signal.aborted) throw outcomeUnknown(error);
      if (state.known) break;
      const outcome = await handleFailure(options, state, error, signal);
      if (outcome !== undefined) return outcome;
      options.log('info', 'commit sent again', { batch: state.own.batch, error: String(error) });
    }
  }
  return { kind: 'unknown' }; // The watch was faster, and the caller ignores this result.
}

/** Returns the outcome, or undefined to send again. Throws the error of a definite rejection. */
async function handleFailure(
  options: CommitterOptions,
  state: SendState,
  error: unknown,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  switch (failureKind(error)) {
    case 'lease-gone':
      // Only the failure branch names a lease, so the guard has failed. The next response shows the outcome.
      state.request = state.transaction.withoutTicket;
      return undefined;
    case 'no-space': {
      const outcome = await lookUpOutcome(options, state, signal);
      if (outcome === undefined && !state.ambiguous) throw noSpaceError(error);
      return outcome;
    }
    case 'too-large':
    case 'rejected':
      if (!state.ambiguous) throw toStateError(error);
      return undefined;
    default:
      state.ambiguous = true;
      return undefined;
  }
}

function readResponse(options: CommitterOptions, { base, own }: SendState, response: TxnResponse): Outcome {
  const { clusterId, revision } = headerOf(response);
  if (String(clusterId) !== base.record.etcdCluster) options.tracker.break(clusterChanged(clusterId));
  if (response.succeeded) return { kind: 'made', revision };
  const head = rangeResult(response, 0);
  if (head !== undefined) options.onBehind(head.modRevision);
  return readOutcome(response, own);
}

/** Looks the outcome up when etcd rejects writes. Returns undefined if the head is unchanged. */
async function lookUpOutcome(
  { client, keys }: CommitterOptions,
  { base, own }: SendState,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  try {
    const transaction = lookUpTransaction(keys, own);
    const response = await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    const head = rangeResult(response, 0);
    const unchanged = head !== undefined && decodePosition(head).encoded === base.encoded;
    return unchanged ? undefined : readOutcome(response, own);
  } catch (error) {
    throw outcomeUnknown(error);
  }
}

function outcomeUnknown(cause: unknown): StateError {
  return new StateError('outcome-unknown', 'the wait for etcd ended before the outcome of the write was known', {
    cause,
  });
}
