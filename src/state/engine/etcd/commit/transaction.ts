import type { Operation } from '../../engine.ts';
import type { TxnResponse } from '../client/gen/etcd_pb.ts';
import { get, gotten, holds, put, remove, type Step, type Transaction, unchangedSince } from '../client/requests.ts';
import type { OwnCommit } from '../follow/follow.ts';
import { encodeHead, type Position } from '../head-record.ts';
import { type Keys, text } from '../keys.ts';

/** A commit as etcd gets it. Sent again until its outcome is known, always the same. */
export interface GuardedTransaction {
  readonly request: Transaction;
  /** The same without the ticket, for when its lease is gone: only the failure branch differs. */
  readonly withoutTicket: Transaction;
}

/** What a transaction's answer says about the commit. */
export type Outcome =
  | { readonly kind: 'made'; readonly revision: bigint }
  /** The head moved: not made, and it never can be. */
  | { readonly kind: 'conflict' }
  /** Neither: the writer key, which would tell, is gone. */
  | { readonly kind: 'untold' };

/**
 * Builds the transaction that makes `own` after `base`.
 * @param ticket the node and the lease for a ticket if it loses; undefined while there is no lease
 * @param ticketOut whether a ticket of this node may stand in etcd, to be taken back
 *
 * The guard compares the head's mod_revision, and its value as well: after a restore from a snapshot the same revision
 * can belong to another history. The ticket is removed before the rows are put, so that whoever sees the events of an
 * own commit can stop at the first row.
 */
export function buildTransaction(
  keys: Keys,
  base: Position,
  own: Omit<OwnCommit, 'onSeen'>,
  node: string,
  ticketLease: bigint | undefined,
  ticketOut: boolean,
): GuardedTransaction {
  const rows = own.operations.map((operation) => rowStep(keys, own.record.generation, operation));
  const writer = keys.writer(own.incarnation);
  const compare = [unchangedSince(keys.head, base.modRevision), holds(keys.head, base.text)];
  const removal = ticketOut ? [remove(keys.turn(node))] : [];
  const success = [put(keys.head, own.text), put(writer, own.batch), ...removal, ...rows];
  const failure = [get(keys.head), get(writer)];
  const withoutTicket = { compare, success, failure };
  if (ticketLease === undefined) return { request: withoutTicket, withoutTicket };
  const ticket = put(keys.turn(node), own.incarnation, ticketLease);
  return { request: { compare, success, failure: [...failure, ticket] }, withoutTicket };
}

/** Reads what the failure branch reads, and changes nothing: what is asked when etcd refuses to write. */
export function inquiry(keys: Keys, own: Pick<OwnCommit, 'incarnation'>): Transaction {
  return { success: [get(keys.head), get(keys.writer(own.incarnation))] };
}

/** The outcome by what a failure branch (or an inquiry, then possibly undefined: nothing happened yet) read. */
export function outcomeOf(answer: TxnResponse, own: Pick<OwnCommit, 'batch'>): Outcome {
  const writer = gotten(answer, 1);
  if (writer === undefined) return { kind: 'untold' };
  if (text(writer.value) === own.batch) return { kind: 'made', revision: writer.modRevision };
  return { kind: 'conflict' };
}

/** The new head of a commit on `base`, as record and as text. */
export function nextHead(
  { record }: Position,
  incarnation: string,
  batch: string,
): { record: Position['record']; text: string } {
  const next = { ...record, index: record.index + 1, by: `${incarnation}/${batch}` };
  return { record: next, text: encodeHead(next) };
}

function rowStep(keys: Keys, generation: string, operation: Operation): Step {
  const key = keys.row(generation, operation);
  return operation.value === null ? remove(key) : put(key, operation.value);
}
