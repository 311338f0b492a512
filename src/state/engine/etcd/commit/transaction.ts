/** The transactions that make a commit and find its outcome [ETCD-23]. */
import { nextTurn } from '../../../clock/next-turn.ts';
import { SLICE_ROWS } from '../../../limits.ts';
import type { Operation, TableFormats } from '../../engine.ts';
import type { TxnResponse } from '../client/gen/etcd_pb.ts';
import {
  get,
  modRevisionEquals,
  put,
  rangeResult,
  remove,
  type TxnOperation,
  type TxnRequest,
  valueEquals,
} from '../client/requests.ts';
import type { OwnCommit } from '../follow/commit-tracker.ts';
import { encodeHead, type Position, withRowFormats } from '../head-record.ts';
import { decodeUtf8, type Keys } from '../keys.ts';

/** A commit as it is sent to etcd, unchanged each time, until its outcome is known. */
export interface GuardedTransaction {
  readonly request: TxnRequest;
  /** The same transaction for a node whose lease is gone. Only the failure branch differs [ETCD-36]. */
  readonly withoutTicket: TxnRequest;
}

export type Outcome =
  | { readonly kind: 'made'; readonly revision: bigint }
  /** Another commit has changed the head, so this one failed and can never succeed. */
  | { readonly kind: 'conflict' }
  /** The writer key is missing, so the outcome cannot be found [ETCD-33]. */
  | { readonly kind: 'unknown' };

/**
 * Builds the transaction that makes `own` on `base`.
 * @param rows the operations on rows, see `buildRowOperations`
 * @param ticketLease the lease for a ticket if the commit loses; undefined while this node has no lease
 * @param removeTicket whether a ticket of this node may exist, which the commit then removes
 *
 * The guard compares the revision and also the value of the head, because the same revision can belong to another
 * history after a restore [ETCD-24]. The operations on engine keys come before the rows, so a reader of the events of
 * an own commit can stop at the first row.
 */
export function buildTransaction(
  keys: Keys,
  base: Position,
  own: Omit<OwnCommit, 'onSeen'>,
  rows: readonly TxnOperation[],
  node: string,
  ticketLease: bigint | undefined,
  removeTicket: boolean,
): GuardedTransaction {
  const writer = keys.writer(own.incarnation);
  const compare = [modRevisionEquals(keys.head, base.modRevision), valueEquals(keys.head, base.encoded)];
  const removal = removeTicket ? [remove(keys.ticket(node))] : [];
  const success = [put(keys.head, own.encoded), put(writer, own.batch), ...removal, ...rows];
  const failure = [get(keys.head), get(writer)];
  const withoutTicket = { compare, success, failure };
  if (ticketLease === undefined) return { request: withoutTicket, withoutTicket };
  const ticket = put(keys.ticket(node), own.incarnation, ticketLease);
  return { request: { compare, success, failure: [...failure, ticket] }, withoutTicket };
}

/** Builds a transaction that reads what the failure branch reads. For an etcd that rejects writes [ETCD-35]. */
export function lookUpTransaction(keys: Keys, own: Pick<OwnCommit, 'incarnation'>): TxnRequest {
  return { success: [get(keys.head), get(keys.writer(own.incarnation))] };
}

/** Reads the outcome from the response of a failure branch or of `lookUpTransaction`, given that the head has moved. */
export function readOutcome(response: TxnResponse, own: Pick<OwnCommit, 'batch'>): Outcome {
  const writer = rangeResult(response, 1);
  if (writer === undefined) return { kind: 'unknown' };
  if (decodeUtf8(writer.value) === own.batch) return { kind: 'made', revision: writer.modRevision };
  return { kind: 'conflict' };
}

/** Returns the head that a commit on `base` makes, as a record and encoded. */
export function nextHead(
  { record }: Position,
  incarnation: string,
  batch: string,
  formats: TableFormats,
): Pick<OwnCommit, 'record' | 'encoded'> {
  const next = { ...withRowFormats(record, formats), index: record.index + 1, by: `${incarnation}/${batch}` };
  return { record: next, encoded: encodeHead(next) };
}

/** Builds the operations on rows. Those of a large commit take many turns of the event loop. */
export async function buildRowOperations(
  keys: Keys,
  generation: string,
  operations: readonly Operation[],
): Promise<readonly TxnOperation[]> {
  const built: TxnOperation[] = [];
  for (const operation of operations) {
    const key = keys.row(generation, operation);
    built.push(operation.value === null ? remove(key) : put(key, operation.value));
    if (built.length % SLICE_ROWS === 0) await nextTurn();
  }
  return built;
}
