/**
 * What an error of a call to etcd means.
 *
 * Trap: `database space exceeded` is no proof that nothing was changed. The member that first sees the quota exceeded
 * applies the transaction and answers with the refusal all the same (its quota check stands around the apply).
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../../clock/deadline.ts';
import { StateError } from '../../../errors.ts';

/** A closed set; all but `unreachable` are etcd's own answers. */
export type FailureKind =
  /** No answer, or one that does not say whether the request was applied: the connection, a time-out, an election. */
  | 'unreachable'
  /** Our token is not known (any more); authenticate again. */
  | 'unauthenticated'
  /** The quota is exhausted; applied or not. */
  | 'no-space'
  /** Too many operations or bytes for this etcd; not applied. */
  | 'too-large'
  /** The revision asked for was compacted. */
  | 'compacted'
  /** The revision asked for has not been reached: the store went back. */
  | 'future'
  /** The lease is not known; not applied. */
  | 'lease-gone'
  /** Refused for another reason; not applied. */
  | 'refused';

const BY_MESSAGE: readonly (readonly [RegExp, FailureKind])[] = [
  [/database space exceeded/, 'no-space'],
  [/too many operations|request is too large|received message larger than max/, 'too-large'],
  [/has been compacted/, 'compacted'],
  [/is a future revision/, 'future'],
  [/lease not found/, 'lease-gone'],
  [/invalid auth token|revision of auth store is old|user name is empty/, 'unauthenticated'],
];

const REFUSALS: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.FailedPrecondition,
]);

/** Sorts an error of a call. Only what etcd itself is known to say counts as an answer. */
export function failureKind(error: unknown): FailureKind {
  if (!(error instanceof ConnectError)) return 'unreachable';
  const known = BY_MESSAGE.find(([words]) => words.test(error.rawMessage));
  if (known !== undefined) return known[1];
  const fromEtcd = error.rawMessage.startsWith('etcdserver: ');
  return fromEtcd && REFUSALS.has(error.code) ? 'refused' : 'unreachable';
}

/** The error as the state is told of it. What does not come from a call (a page that cannot be parsed) stays as it is. */
export function stateErrorOf(error: unknown): unknown {
  if (!(error instanceof ConnectError || error instanceof DeadlineError)) return error;
  const words = error instanceof ConnectError ? error.rawMessage : error.message;
  switch (failureKind(error)) {
    case 'no-space':
      return noSpace(error);
    case 'too-large':
      return new StateError('too-large', `etcd refuses a commit of this size: ${words}`, { cause: error });
    case 'unreachable':
      return new StateError('unavailable', `etcd does not answer: ${words}`, { cause: error });
    default:
      return new StateError('unavailable', `etcd refused the request: ${words}`, { cause: error });
  }
}

/** What a full etcd means for a caller. */
export function noSpace(cause: unknown): StateError {
  const message =
    'etcd has reached its space quota: compact and defragment it or raise --quota-backend-bytes, then disarm its NOSPACE alarm';
  return new StateError('full', message, { cause });
}
