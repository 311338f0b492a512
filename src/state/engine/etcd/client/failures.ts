/**
 * The classification of failed calls to etcd [ETCD-12].
 *
 * Trap: `database space exceeded` does not prove that nothing changed. The member that first exceeds its quota applies
 * the transaction and still answers with the rejection [ETCD-13].
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../../clock/deadline.ts';
import { StateError } from '../../../errors.ts';

/** The classes of failed calls. All except `unreachable` are answers of etcd. */
export type FailureKind =
  /** No answer, or one that leaves open whether the request was applied (timeout, election, cut connection). */
  | 'unreachable'
  /** etcd does not know the token. The client authenticates again. */
  | 'unauthenticated'
  /** The quota is exceeded. The request may have been applied. */
  | 'no-space'
  /** The request has too many operations or bytes and was not applied. */
  | 'too-large'
  /** The requested revision was compacted. */
  | 'compacted'
  /** The requested revision is above the current revision, because etcd was restored from an older snapshot. */
  | 'future'
  /** The lease does not exist. The request was not applied. */
  | 'lease-gone'
  /** etcd rejected the request for another reason and did not apply it. */
  | 'rejected';

const MESSAGE_PATTERNS: readonly (readonly [RegExp, FailureKind])[] = [
  [/database space exceeded/, 'no-space'],
  [/too many operations|request is too large|received message larger than max/, 'too-large'],
  [/has been compacted/, 'compacted'],
  [/is a future revision/, 'future'],
  [/lease not found/, 'lease-gone'],
  [/invalid auth token|revision of auth store is old|user name is empty/, 'unauthenticated'],
];

const REJECTION_CODES: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.FailedPrecondition,
]);

/** Returns the class of a failed call. Only messages that etcd is known to send count as answers. */
export function failureKind(error: unknown): FailureKind {
  if (!(error instanceof ConnectError)) return 'unreachable';
  const known = MESSAGE_PATTERNS.find(([pattern]) => pattern.test(error.rawMessage));
  if (known !== undefined) return known[1];
  const fromEtcd = error.rawMessage.startsWith('etcdserver: ');
  return fromEtcd && REJECTION_CODES.has(error.code) ? 'rejected' : 'unreachable';
}

/** Converts the error of a call to a `StateError` [ETCD-14]. Returns any other error unchanged. */
export function toStateError(error: unknown): unknown {
  if (!(error instanceof ConnectError || error instanceof DeadlineError)) return error;
  const message = error instanceof ConnectError ? error.rawMessage : error.message;
  switch (failureKind(error)) {
    case 'no-space':
      return noSpaceError(error);
    case 'too-large':
      return new StateError('too-large', `etcd rejected a commit of this size: ${message}`, { cause: error });
    case 'unreachable':
      return new StateError('unavailable', `etcd does not answer: ${message}`, { cause: error });
    case 'unauthenticated':
      return new StateError('unavailable', `etcd asks for credentials (${message}): ${CREDENTIALS_REMEDY}`, {
        cause: error,
      });
    default:
      return new StateError('unavailable', `etcd rejected the request: ${message}${remedyOf(message)}`, {
        cause: error,
      });
  }
}

const CREDENTIALS_REMEDY = 'set etcd.username and etcd.password-file';

function remedyOf(message: string): string {
  if (message.includes('authentication failed')) return ': check etcd.username and etcd.password-file';
  return message.includes('permission denied') ? ': grant etcd.username read and write access to etcd.prefix' : '';
}

export function noSpaceError(cause: unknown): StateError {
  const message =
    'etcd has reached its space quota: compact and defragment it or raise --quota-backend-bytes, then disarm its NOSPACE alarm';
  return new StateError('full', message, { cause });
}
