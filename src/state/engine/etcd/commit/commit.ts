/**
 * Makes commits, one at a time, and never answers before it knows.
 *
 * A failure says nothing about what happened to the transaction, so the same one is sent again until etcd tells: it was
 * made, or the head has moved and it never can be. What the watch shows meanwhile counts as well.
 *
 * A definite refusal ends a commit only if it answers the first sending: after an ambiguous one, a refusal of the second
 * says nothing about the first. `database space exceeded` is followed by a question even then (see failures.ts).
 */
import { type Clock, sleep } from '../../../clock/clock.ts';
import { StateError } from '../../../errors.ts';
import type { Commit } from '../../engine.ts';
import { type EtcdClient, retryPauseMs } from '../client/client.ts';
import { failureKind, noSpace, stateErrorOf } from '../client/failures.ts';
import type { TxnResponse } from '../client/gen/etcd_pb.ts';
import type { Log } from '../client/options.ts';
import { gotten, headerOf, put } from '../client/requests.ts';
import type { Following, OwnCommit } from '../follow/follow.ts';
import { otherCluster } from '../follow/head-check.ts';
import { type Position, readPosition } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import type { Membership } from '../node/membership.ts';
import type { Turns } from './commit-fairness.ts';
import {
  buildTransaction,
  type GuardedTransaction,
  inquiry,
  nextHead,
  type Outcome,
  outcomeOf,
} from './transaction.ts';

export interface CommitterOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly keys: Keys;
  readonly node: string;
  readonly membership: Membership;
  readonly following: Following;
  readonly turns: Turns;
  readonly endpoints: number;
  readonly log: Log;
  /** The store is ahead of what was delivered. */
  readonly onBehind: (modRevision: bigint) => void;
}

export interface Committer {
  /** As `Engine.commit`. */
  commit(commit: Commit, signal: AbortSignal): Promise<'committed' | 'conflict'>;
}

export function createCommitter(options: CommitterOptions): Committer {
  const { following, turns, membership, keys, node, client } = options;
  let batches = 0;
  /** Whether a ticket of this node may stand in etcd. */
  let ticketOut = false;
  let queueing: Promise<void> | undefined;

  /** Undefined: the head has moved on already. */
  const base = ({ epoch, base: index }: Commit): Position | undefined => {
    const position = following.held();
    return position?.record.epoch === epoch && position.record.index === index ? position : undefined;
  };

  /** Stands in line while it waits, or a node that always finds others ahead of it would never get a ticket. */
  const waitForTurn = async (signal: AbortSignal): Promise<void> => {
    if (!turns.mustWait()) return;
    if (!ticketOut) queueing = queue(signal);
    await turns.wait(signal);
  };

  const queue = async (signal: AbortSignal): Promise<void> => {
    const lease = membership.live();
    if (lease === undefined) return;
    ticketOut = true;
    const ticket = put(keys.turn(node), lease.incarnation, lease.lease);
    // Without the ticket the commit is only later than it could be.
    await client.attempt((endpoint, call) => endpoint.kv.txn({ success: [ticket] }, call), signal).catch(() => {});
  };

  return {
    async commit(commit, signal) {
      if (base(commit) === undefined) return 'conflict';
      await waitForTurn(signal);
      // A ticket that arrived after the commit which takes it back would stand there for nothing.
      if (base(commit) !== undefined) await queueing;
      const position = base(commit);
      if (position === undefined) return 'conflict';
      const latest = membership.latest();
      if (latest === undefined) throw new StateError('unavailable', 'this node has not joined the cluster in etcd yet');
      batches += 1;
      const own = { incarnation: latest.incarnation, batch: String(batches), operations: commit.operations };
      const made = { ...own, ...nextHead(position, own.incarnation, own.batch) };
      const transaction = buildTransaction(keys, position, made, node, membership.live()?.lease, ticketOut);
      const outcome = await resolve(options, position, made, transaction, signal);
      ticketOut = outcome === 'conflict' && transaction.request !== transaction.withoutTicket;
      return outcome;
    },
  };
}

/** Sends until the outcome is known, from an answer or from the watch, and sees that the commit is delivered. */
async function resolve(
  options: CommitterOptions,
  base: Position,
  made: Omit<OwnCommit, 'onSeen'>,
  transaction: GuardedTransaction,
  signal: AbortSignal,
): Promise<'committed' | 'conflict'> {
  const { following } = options;
  const seen = Promise.withResolvers<Outcome>();
  const own: OwnCommit = { ...made, onSeen: (revision) => seen.resolve({ kind: 'made', revision }) };
  const sending: Sending = { base, own, transaction, request: transaction.request, ambiguous: false, known: false };
  following.expect(own);
  try {
    const outcome = await Promise.race([seen.promise, sendUntilKnown(options, sending, signal)]);
    if (outcome.kind === 'conflict') return 'conflict';
    if (outcome.kind === 'made') {
      following.made(own, outcome.revision);
      return 'committed';
    }
    following.break('etcd no longer tells what became of a commit: its writer key is gone');
    throw new StateError('outcome-unknown', 'etcd no longer tells whether the write was made');
  } finally {
    sending.known = true;
    following.expect(undefined);
  }
}

interface Sending {
  readonly base: Position;
  readonly own: OwnCommit;
  readonly transaction: GuardedTransaction;
  /** What is sent next. */
  request: GuardedTransaction['request'];
  /** A sending failed without telling whether it was applied. */
  ambiguous: boolean;
  /** The watch told the outcome: an answer under way is let come, but nothing is sent again. */
  known: boolean;
}

async function sendUntilKnown(options: CommitterOptions, sending: Sending, signal: AbortSignal): Promise<Outcome> {
  const { client, clock, endpoints } = options;
  for (let failures = 0; !sending.known; failures += 1) {
    try {
      if (failures > 0) await sleep(clock, retryPauseMs(failures, endpoints), signal);
      const answer = await client.attempt((endpoint, call) => endpoint.kv.txn(sending.request, call), signal);
      return readAnswer(options, sending, answer);
    } catch (error) {
      if (signal.aborted) throw unknown(error);
      if (sending.known) break;
      const outcome = await afterFailure(options, sending, error, signal);
      if (outcome !== undefined) return outcome;
      options.log('info', 'a commit is sent again', { batch: sending.own.batch, error: String(error) });
    }
  }
  return { kind: 'untold' }; // The watch was quicker: nobody waits for this.
}

/** Undefined: send again. Throws what is definite. */
async function afterFailure(
  options: CommitterOptions,
  sending: Sending,
  error: unknown,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  switch (failureKind(error)) {
    case 'lease-gone':
      // Only the failure branch names a lease: the guard has failed, and the next answer says why.
      sending.request = sending.transaction.withoutTicket;
      return undefined;
    case 'no-space': {
      const outcome = await inquire(options, sending, signal);
      if (outcome === undefined && !sending.ambiguous) throw noSpace(error);
      return outcome;
    }
    case 'too-large':
    case 'refused':
      if (!sending.ambiguous) throw stateErrorOf(error);
      return undefined;
    default:
      sending.ambiguous = true;
      return undefined;
  }
}

function readAnswer(options: CommitterOptions, { base, own }: Sending, answer: TxnResponse): Outcome {
  const { clusterId, revision } = headerOf(answer);
  if (String(clusterId) !== base.record.etcdCluster) options.following.break(otherCluster(clusterId));
  if (answer.succeeded) return { kind: 'made', revision };
  const head = gotten(answer, 0);
  if (head !== undefined) options.onBehind(head.modRevision);
  return outcomeOf(answer, own);
}

/** What became of the commit when etcd refuses to write. Undefined: nothing, and the head stands where it stood. */
async function inquire(
  { client, keys }: CommitterOptions,
  { base, own }: Sending,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  try {
    const answer = await client.retry((endpoint, call) => endpoint.kv.txn(inquiry(keys, own), call), signal);
    const head = gotten(answer, 0);
    const untouched = head !== undefined && readPosition(head).text === base.text;
    return untouched ? undefined : outcomeOf(answer, own);
  } catch (error) {
    throw unknown(error);
  }
}

function unknown(cause: unknown): StateError {
  const message = 'the wait for etcd was ended before it had told whether the write was made';
  return new StateError('outcome-unknown', message, { cause });
}
